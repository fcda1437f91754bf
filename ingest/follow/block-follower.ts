import { pause } from '../../infra/coordination/pause.ts';
import { isSettledWithin } from '../../infra/coordination/settled-within.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { markHandled } from '../../infra/ignore.ts';
import { fetchHeights } from '../backfill/fetch-heights.ts';
import { portions } from '../backfill/portions.ts';
import type { BlockService } from '../sources/block-service.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';
import type { FollowMetrics } from '../sources/source-metrics.ts';
import { BestBlocks } from './best-blocks.ts';

export interface FollowOptions {
  readonly chain: { readonly relay_chain: string; readonly name: string };
  /** First height; without it the finalized head. */
  readonly from?: number;
  /** Also yields blocks that are not final yet. A reorganization replaces them. */
  readonly best: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Throws after this time without an answer, so that the caller can try another source. Without it: retries for ever. */
  readonly awayMsMax?: number;
  /** Called with heights that the source failed to serve, before the follower continues above them. */
  readonly onUnserved: (heights: readonly UnservedHeight[]) => Promise<void>;
  /**
   * Called with the next height when the consumer has ingested all final blocks below it that the source serves, and
   * once with the first height.
   */
  readonly onIngested?: (next: number) => Promise<void>;
  /** Lines of snapshots at a finalized height. */
  readonly snapshotsAt?: (finalized: number) => Promise<Buffer[]>;
  /** Called once with the reason when the source stops answering, and with null when it answers again. */
  readonly onConnectionChange?: (reason: string | null) => void;
  /** Called after every request for the head. */
  readonly followed?: Pick<FollowMetrics, 'recordHead' | 'recordError'>;
}

/** Most final blocks in a batch. */
export const BLOCKS_AT_ONCE = 64;
/** Limits after which a batch is closed with fewer blocks. */
const PORTION = { bytesMax: 16 * 2 ** 20, msMax: 5000 };
/** Longest time that blocks wait for a snapshot. */
const SNAPSHOTS_MS_MAX = 2000;
const RETRY_MS_MAX = 30_000;

/**
 * Follows the head of a chain until the signal aborts. Yields every finalized block that the source serves, once and in
 * order. With `best` it also yields the blocks above them whenever the best chain changes. Retries a source that does
 * not answer.
 */
export async function* followBlocks(service: BlockService, options: FollowOptions): AsyncGenerator<Buffer[]> {
  const { signal, pollMs } = options;
  const best = options.best ? new BestBlocks(service, options.chain) : null;
  const snapshots = new BackgroundSnapshots(options.snapshotsAt);
  let isDown = false;
  const report = (reason: string | null) => {
    if ((reason !== null) === isDown) return;
    isDown = reason !== null;
    options.onConnectionChange?.(reason);
  };
  let downSince: number | null = null;
  let next = options.from;
  let wait = pollMs;
  while (!signal.aborted) {
    try {
      const finalized = await service.head();
      options.followed?.recordHead(finalized.number);
      if (next === undefined) {
        // A process that takes over before the first block is ingested begins here.
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
      downSince = null;
      wait = pollMs;
      const fault = yield* extraLines([best?.changes(finalized.number), snapshots.at(finalized.number)]);
      report(fault === null ? null : reasonOf(fault));
    } catch (error) {
      if (signal.aborted) return;
      options.followed?.recordError();
      report(reasonOf(error));
      downSince ??= performance.now();
      if (performance.now() - downSince >= (options.awayMsMax ?? Number.POSITIVE_INFINITY)) throw error;
      wait = Math.min(Math.max(1, wait) * 2, RETRY_MS_MAX);
    }
    await pause(wait, signal);
  }
}

/** Yields best blocks and snapshots. Returns an error instead of throwing it, so that final blocks are not delayed. */
async function* extraLines(
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

/** Takes snapshots in the background, because a route that hangs must not delay blocks. */
class BackgroundSnapshots {
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
