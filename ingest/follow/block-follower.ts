import { pause } from '../../infra/coordination/pause.ts';
import { isSettledWithin } from '../../infra/coordination/settled-within.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { markHandled } from '../../infra/ignore.ts';
import { fetchHeights } from '../backfill/fetch-heights.ts';
import { portions } from '../backfill/portions.ts';
import type { BlockService } from '../sources/block-service.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';
import type { FollowedChain } from '../sources/source-metrics.ts';
import { BestBlocks } from './best-blocks.ts';

export interface FollowOptions {
  readonly chain: { readonly relay_chain: string; readonly name: string };
  /** First height to take; the finalized head when absent. */
  readonly from?: number;
  /** Also blocks that are not final yet; a reorganisation replaces them. */
  readonly best: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Milliseconds without an answer after which it throws, so that another source can be asked; for ever when absent. */
  readonly awayMsMax?: number;
  /** Called with heights that the source does not serve while it serves others, before it is followed past them. */
  readonly onUnserved: (heights: readonly UnservedHeight[]) => Promise<void>;
  /**
   * Called with the first height, and with the next one when the consumer has ingested all final blocks below it that
   * the source serves.
   */
  readonly onIngested?: (next: number) => Promise<void>;
  /** Lines of snapshots at a finalized height. */
  readonly snapshotsAt?: (finalized: number) => Promise<Buffer[]>;
  /** Called once with the reason when the source stops answering, and with null when it answers again. */
  readonly onConnectionChange?: (reason: string | null) => void;
  /** Is told of every look at the source. */
  readonly followed?: Pick<FollowedChain, 'looked' | 'failed'>;
}

/** Limits of one batch of final blocks: its number of blocks, and the bytes after which it is closed. */
export const BLOCKS_AT_ONCE = 64;
const PORTION = { bytesMax: 16 * 2 ** 20, msMax: 5000 };
/** Blocks do not wait longer for snapshots that are being taken. */
const SNAPSHOTS_MS_MAX = 2000;
const RETRY_MS_MAX = 30_000;

/**
 * Follows the head of a chain: every finalized block that the source serves once and in order, and when asked for, the unfinalized ones
 * above it whenever the chain of best blocks changes. Yields lines as they come until the signal aborts: a source that
 * does not answer is retried.
 */
export async function* followBlocks(service: BlockService, options: FollowOptions): AsyncGenerator<Buffer[]> {
  const { signal, pollMs } = options;
  const best = options.best ? new BestBlocks(service, options.chain) : null;
  const snapshots = new SnapshotsBeside(options.snapshotsAt);
  let isFaultTold = false;
  const tell = (reason: string | null) => {
    if ((reason !== null) === isFaultTold) return;
    isFaultTold = reason !== null;
    options.onConnectionChange?.(reason);
  };
  let awaySince: number | null = null;
  let next = options.from;
  let wait = pollMs;
  while (!signal.aborted) {
    try {
      const finalized = await service.head();
      options.followed?.looked(finalized.number);
      if (next === undefined) {
        // Whatever dies before the first block is ingested, this is where it goes on.
        await options.onIngested?.(finalized.number);
        next = finalized.number;
      }
      while (next <= finalized.number && !signal.aborted) {
        const to = Math.min(next + BLOCKS_AT_ONCE - 1, finalized.number);
        const fetched = fetchHeights(service, [{ from: next, to }], options.concurrency);
        for await (const { lines, unserved, last } of portions(fetched, PORTION)) {
          if (unserved.length > 0) await options.onUnserved(unserved);
          next = last + 1;
          if (lines.length > 0) yield lines;
          await options.onIngested?.(next);
        }
      }
      awaySince = null;
      wait = pollMs;
      const fault = yield* beside([best?.changes(finalized.number), snapshots.at(finalized.number)]);
      tell(fault === null ? null : reasonOf(fault));
    } catch (error) {
      if (signal.aborted) return;
      options.followed?.failed();
      tell(reasonOf(error));
      awaySince ??= performance.now();
      if (performance.now() - awaySince >= (options.awayMsMax ?? Number.POSITIVE_INFINITY)) throw error;
      wait = Math.min(Math.max(1, wait) * 2, RETRY_MS_MAX);
    }
    await pause(wait, signal);
  }
}

/** What comes beside the final blocks. Its failure delays none of them: it is returned, and the next look tries again. */
async function* beside(
  parts: readonly (AsyncGenerator<Buffer[]> | undefined)[],
): AsyncGenerator<Buffer[], ProductError | null> {
  let failure: ProductError | null = null;
  for (const part of parts) {
    try {
      if (part) yield* part;
    } catch (error) {
      if (!(error instanceof ProductError)) throw error;
      failure ??= error;
    }
  }
  return failure;
}

/** Takes snapshots while blocks go on: a route that hangs holds up no block. */
class SnapshotsBeside {
  readonly #take: FollowOptions['snapshotsAt'];
  #running: Promise<Buffer[]> | null = null;

  constructor(take: FollowOptions['snapshotsAt']) {
    this.#take = take;
  }

  async *at(finalized: number): AsyncGenerator<Buffer[]> {
    if (this.#take === undefined) return;
    this.#running ??= markHandled(this.#take(finalized));
    const running = this.#running;
    if (!(await isSettledWithin(running, SNAPSHOTS_MS_MAX))) return;
    this.#running = null;
    const lines = await running;
    if (lines.length > 0) yield lines;
  }
}
