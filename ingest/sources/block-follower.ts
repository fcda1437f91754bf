import { setTimeout } from 'node:timers/promises';
import { reasonOf } from '../../infra/errors.ts';
import { blockLines, LINE_END } from './backfill.ts';
import { BestBlocks } from './best-blocks.ts';
import type { Sidecar } from './sidecar.ts';

export interface FollowOptions {
  readonly chain: { readonly relay_chain: string; readonly name: string };
  /** First height to take; the finalized head when absent. */
  readonly from?: number;
  /** Also blocks that are not final yet; a reorganisation replaces them. */
  readonly best: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly signal: AbortSignal;
  /** Told of the height to go on from, when whoever follows has taken all final blocks below it. */
  readonly onTaken?: (next: number) => Promise<void>;
  /** Lines to add when the chain was followed up to a finalized height. */
  readonly beside?: (finalized: number) => Promise<Buffer[]>;
  /** Told once when the source goes away, and with null when it is back. */
  readonly onAway?: (reason: string | null) => void;
}

/** Final blocks that are given at once, at most, and the bytes after which there are enough of them. */
export const BLOCKS_AT_ONCE = 64;
const BYTES_AT_ONCE = 16 * 2 ** 20;
const AWAY_WAIT_MS_MAX = 30_000;

/**
 * Follows the head of a chain: every finalized block once and in order, and when asked for, the unfinalized ones
 * above it whenever the chain of best blocks changes. Gives lines as they come, and ends only when it is told to:
 * a source that is away is asked again until it is back.
 */
export async function* followBlocks(sidecar: Sidecar, options: FollowOptions): AsyncGenerator<Buffer[]> {
  const { signal, pollMs } = options;
  const best = options.best ? new BestBlocks(sidecar, options.chain) : null;
  let next = options.from;
  let wait = pollMs;
  let isAway = false;
  while (!signal.aborted) {
    try {
      const finalized = await sidecar.head();
      next ??= finalized.number;
      while (next <= finalized.number && !signal.aborted) {
        const to = Math.min(next + BLOCKS_AT_ONCE - 1, finalized.number);
        const fetched = blockLines(sidecar, [{ from: next, to }], options.concurrency);
        for await (const lines of portions(fetched)) {
          next += lines.filter((line) => line !== LINE_END).length;
          yield lines;
          await options.onTaken?.(next);
        }
      }
      const news = (await best?.changes(finalized.number)) ?? [];
      if (news.length > 0) yield news;
      const more = (await options.beside?.(finalized.number)) ?? [];
      if (more.length > 0) yield more;
      if (isAway) options.onAway?.(null);
      isAway = false;
      wait = pollMs;
    } catch (error) {
      if (signal.aborted) return;
      if (!isAway) options.onAway?.(reasonOf(error));
      isAway = true;
      wait = Math.min(Math.max(1, wait) * 2, AWAY_WAIT_MS_MAX);
    }
    await setTimeout(wait, undefined, { signal }).catch(() => undefined);
  }
}

/** Lines that are handed over together; blocks may be as large as they like. */
async function* portions(lines: AsyncIterable<Buffer>): AsyncGenerator<Buffer[]> {
  let portion: Buffer[] = [];
  let bytes = 0;
  for await (const line of lines) {
    portion.push(line);
    bytes += line.length;
    if (line !== LINE_END || bytes < BYTES_AT_ONCE) continue;
    yield portion;
    portion = [];
    bytes = 0;
  }
  if (portion.length > 0) yield portion;
}
