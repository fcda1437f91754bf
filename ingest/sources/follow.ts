import { setTimeout } from 'node:timers/promises';
import { blockLines } from './backfill.ts';
import type { Sidecar } from './sidecar.ts';

export interface FollowOptions {
  /** First height to take; the finalized head when absent. */
  readonly from?: number;
  /** Also blocks that are not final yet; a reorganisation replaces them. */
  readonly best: boolean;
  readonly pollMs: number;
  readonly concurrency: number;
  readonly signal: AbortSignal;
}

const LINE_END = Buffer.from('\n');

/**
 * Follows the head of a chain: every finalized block once and in order, and when asked for, the unfinalized ones
 * above it whenever the chain of best blocks changes. Gives the lines of one look at the head at a time.
 */
export async function* follow(sidecar: Sidecar, options: FollowOptions): AsyncGenerator<Buffer[]> {
  let next = options.from ?? (await sidecar.head()).number;
  let bestHash = '';
  while (!options.signal.aborted) {
    const finalized = await sidecar.head();
    for (; next <= finalized.number; next = Math.min(next + BLOCKS_AT_ONCE, finalized.number + 1)) {
      const to = Math.min(next + BLOCKS_AT_ONCE - 1, finalized.number);
      yield await collect(blockLines(sidecar, [{ from: next, to }], options.concurrency));
      if (options.signal.aborted) return;
    }
    if (options.best) {
      const best = await sidecar.head('best');
      if (best.hash !== bestHash && best.number > finalized.number) {
        bestHash = best.hash;
        yield await unfinalized(sidecar, finalized.number + 1, best.number);
      }
    }
    await setTimeout(options.pollMs, undefined, { signal: options.signal }).catch(() => undefined);
  }
}

const BLOCKS_AT_ONCE = 64;

/** A height above the finalized one is not final, whatever the service says of it. */
async function unfinalized(sidecar: Sidecar, from: number, to: number): Promise<Buffer[]> {
  const lines: Buffer[] = [];
  for (let height = from; height <= to; height++) {
    const block = await sidecar.block(height);
    const text = block.toString('utf8').replace(/"finalized":true\s*\}\s*$/, '"finalized":false}');
    lines.push(Buffer.from(text), LINE_END);
  }
  return lines;
}

async function collect(lines: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const collected: Buffer[] = [];
  for await (const line of lines) collected.push(line);
  return collected;
}
