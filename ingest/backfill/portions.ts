import { ignore, markHandled } from '../../infra/ignore.ts';
import { LINE_END } from '../sources/lines.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';
import type { FetchedHeight } from './fetch-heights.ts';

/** Consecutive fetched heights up to `last`. */
interface Portion {
  readonly lines: Buffer[];
  readonly unserved: UnservedHeight[];
  last: number;
  blocks: number;
  bytes: number;
}

const emptyPortion = (): Portion => ({ lines: [], unserved: [], last: -1, blocks: 0, bytes: 0 });

/**
 * Batches of heights, each closed after so many bytes or so much time, also while a height is waited for. A block is never
 * split, however large it is; what came before a failure is given first.
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

/** One timer a portion: one for each height takes as long as to load its block. */
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
  portion.blocks++;
  portion.bytes += height.line.length;
}

/** Makes the next value while the last one is used. */
export async function* oneAhead<Value>(values: AsyncGenerator<Value>): AsyncGenerator<Value> {
  const ask = () => markHandled(values.next());
  try {
    for (let next = ask(); ; ) {
      const { done, value } = await next;
      if (done) return;
      next = ask();
      yield value;
    }
  } finally {
    // Who stops reading has all that it wants: what fails then concerns nobody.
    values.return(undefined).catch(ignore('ingest.portions'));
  }
}
