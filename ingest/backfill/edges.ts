import { ProductError } from '../../infra/errors.ts';
import { timeOf } from '../decode/block-time.ts';
import type { BlockSource } from './fetch-heights.ts';

/** Days are looked for in all of the history, which a source may have only a part of. */
function notGiven(error: unknown): never {
  const isRefused = error instanceof ProductError && error.code === 'source_failed';
  if (!isRefused) throw error;
  throw new ProductError(
    'source_failed',
    `${error.message}; name heights, not days, where it lacks old blocks`,
  );
}

/** Blocks of the first step back from the head. */
const FIRST_STEP = 1024;

/**
 * The first height at or after a time, up to `head`; `head + 1` when there is none. It looks back from the head in growing
 * steps, then between two of them, since a source may lack old blocks, or have them of other runtimes.
 */
async function firstHeightSince(source: BlockSource, head: number, time: number): Promise<number> {
  const isBefore = async (height: number) => {
    // The first block has no time.
    if (height === 0) return true;
    const found = timeOf(await source.block(height).catch(notGiven));
    if (found !== null) return found < time;
    throw new ProductError('source_failed', `block ${height} has no time: name heights, not days`);
  };
  let [low, high] = [0, head + 1];
  for (let step = FIRST_STEP; step < head; step *= 4) {
    if (await isBefore(head - step)) {
      low = head - step + 1;
      break;
    }
    high = head - step;
  }
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (await isBefore(middle)) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** An end of a range: a height, or a time in milliseconds. The upper one of times is exclusive. */
export type Edge = { readonly height: number } | { readonly time: number };

/** A day stands for its beginning, as an upper edge for its end. */
export const edgeOf = (given: number | string, dayMs: number): Edge =>
  typeof given === 'number' ? { height: given } : { time: Date.parse(given) + dayMs };

/** The heights between two edges, up to the finalized head of a source. Throws `usage` when there are none. */
export async function heightsBetween(
  source: BlockSource,
  from: Edge,
  to: Edge | undefined,
): Promise<{ from: number; to: number }> {
  const { number: head } = await source.head();
  const since = (edge: Edge) => ('height' in edge ? edge.height : firstHeightSince(source, head, edge.time));
  const first = await since(from);
  // Blocks that are not finalized may still be replaced: they are for `follow`.
  const last = to === undefined ? head : Math.min(head, (await since(to)) - ('height' in to ? 0 : 1));
  if (first <= last) return { from: first, to: last };
  throw new ProductError('usage', `no heights from ${first} to ${last}; the finalized head is ${head}`);
}

/** The times of a range of which an edge is one. */
export function timesBetween(
  from: Edge,
  to: Edge | undefined,
): { readonly from: number; readonly until: number } | undefined {
  const isTimed = 'time' in from || (to !== undefined && 'time' in to);
  if (!isTimed) return undefined;
  return {
    from: 'time' in from ? from.time : 0,
    until: to !== undefined && 'time' in to ? to.time : Number.POSITIVE_INFINITY,
  };
}
