import { Readable } from 'node:stream';
import { pause } from '../../infra/coordination/pause.ts';
import { reasonOf } from '../../infra/errors.ts';
import { plural } from '../../infra/format.ts';
import { type BlockSource, fetchHeights } from '../backfill/fetch-heights.ts';
import { rangesOf } from '../sources/heights.ts';
import { LINE_END } from '../sources/lines.ts';
import {
  nextAttemptAt,
  type SkippedHeight,
  timeoutFactorFor,
  type UnservedHeight,
} from '../sources/skipped-heights.ts';

/** The methods of the loading process that a refill needs. */
interface RefillTarget {
  ingest(source: {
    name: string;
    bytes: Readable;
    chain: string;
  }): Promise<{ readonly refused_lines: number }>;
  skipped(chain: string): Promise<readonly SkippedHeight[]>;
  noteSkipped(chain: string, heights: readonly UnservedHeight[]): Promise<void>;
}

interface RefillOptions {
  readonly chain: string;
  /** Wait before a height is retried. It doubles with each attempt. */
  readonly retrySeconds: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

const HEIGHTS_AT_ONCE = 64;
const CONCURRENCY = 2;
const REFUSED = 'its block was refused; see the dead letters for the reason';

/** Retries skipped heights that are due, until the signal aborts. Never throws. */
export async function refillSkipped(
  source: BlockSource & { readonly url: string },
  target: RefillTarget,
  { chain, retrySeconds, signal, say }: RefillOptions,
): Promise<void> {
  for (;;) {
    await pause(retrySeconds * 1000, signal);
    if (signal.aborted) return;
    try {
      const now = Date.now();
      const due = (await target.skipped(chain))
        .filter((height) => nextAttemptAt(height, retrySeconds) <= now)
        .slice(0, HEIGHTS_AT_ONCE);
      if (due.length > 0) await tryAgain(source, target, chain, due, say);
    } catch (error) {
      // The source or the store is down: the heights stay skipped, and the attempt does not count.
      if (!signal.aborted) say(`skipped heights could not be retried: ${reasonOf(error)}`);
    }
  }
}

async function tryAgain(
  source: BlockSource & { readonly url: string },
  target: RefillTarget,
  chain: string,
  due: readonly SkippedHeight[],
  say: (text: string) => void,
): Promise<void> {
  const unserved: UnservedHeight[] = [];
  let filled = 0;
  const timeoutFactor = new Map(due.map((height) => [height.number, timeoutFactorFor(height)]));
  const withMoreTime = {
    ...source,
    head: () => source.head(),
    block: (number: number) => source.block(number, timeoutFactor.get(number)),
  };
  for await (const height of fetchHeights(withMoreTime, rangesOf([...timeoutFactor.keys()]), CONCURRENCY)) {
    const { number, reason } = height;
    if ('line' in height) {
      // One at a time, because a block may be large.
      const bytes = Readable.from([height.line, LINE_END]);
      const { refused_lines } = await target.ingest({ name: source.url, bytes, chain });
      // A refused block counts as an attempt. Otherwise every turn would fetch it again.
      if (refused_lines > 0 || reason !== undefined) unserved.push({ number, reason: reason ?? REFUSED });
      else filled++;
    } else unserved.push(height);
  }
  if (filled > 0) say(`filled ${plural(filled, 'skipped height')}`);
  if (unserved.length > 0) await target.noteSkipped(chain, unserved);
}
