import { ignore, markHandled } from '../../infra/ignore.ts';
import { LINE_END } from '../sources/lines.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';
import type { FetchedHeight } from './fetch-heights.ts';

/** Consecutive heights up to `last`. */
interface Portion {
  readonly lines: Buffer[];
  readonly unserved: UnservedHeight[];
  last: number;
  bytes: number;
}

const emptyPortion = (): Portion => ({ lines: [], unserved: [], last: -1, bytes: 0 });

/**
 * Groups heights into portions of limited size and time. The time limit also ends a portion that waits for a height. A
 * block is never split. Heights before an error are yielded before it is thrown.
 */
export async function* portions(
  fetched: AsyncIterable<FetchedHeight>,
  { bytesMax, msMax }: { readonly bytesMax: number; readonly msMax: number },
): AsyncGenerator<Portion> {
  let portion = emptyPortion();
  let limit: TimeLimit | undefined;
  let failure: { readonly error: unknown } | undefined;
  const heights = fetched[Symbol.asyncIterator]();
  const end = () => {
    limit?.clear();
    limit = undefined;
    const ended = portion;
    portion = emptyPortion();
    return ended;
  };
  for (;;) {
    const next = heights.next().catch((error: unknown) => {
      failure = { error };
      return { done: true, value: undefined } as const;
    });
    if (limit && (await Promise.race([next, limit.over])) === OVER) yield end();
    const height = await next;
    if (height.done) break;
    limit ??= timeLimit(msMax);
    add(portion, height.value);
    if (portion.bytes >= bytesMax) yield end();
  }
  if (portion.last >= 0) yield end();
  if (failure) throw failure.error;
}

const OVER = Symbol('over');

interface TimeLimit {
  readonly over: Promise<typeof OVER>;
  readonly clear: () => void;
}

/** One timer for each portion: a timer for each height would take as long as loading its block. */
function timeLimit(ms: number): TimeLimit {
  const { promise: over, resolve } = Promise.withResolvers<typeof OVER>();
  const timer = setTimeout(resolve, ms, OVER);
  return { over, clear: () => clearTimeout(timer) };
}

function add(portion: Portion, height: FetchedHeight): void {
  portion.last = height.number;
  const { number, reason } = height;
  if (reason !== undefined) portion.unserved.push({ number, reason });
  if (!('line' in height)) return;
  portion.lines.push(height.line, LINE_END);
  portion.bytes += height.line.length;
}

/** Requests the next value while the last one is used. */
export async function* prefetch<Value>(values: AsyncGenerator<Value>): AsyncGenerator<Value> {
  const request = () => markHandled(values.next());
  try {
    for (let next = request(); ; ) {
      const { done, value } = await next;
      if (done) return;
      next = request();
      yield value;
    }
  } finally {
    // A reader that stops early needs no further values, so their errors do not matter.
    values.return(undefined).catch(ignore('ingest.portions'));
  }
}
