import { ProductError } from '../../infra/errors.ts';
import { timeOf } from '../decode/block-time.ts';
import type { BlockSource } from './fetch-heights.ts';

/** Throws the error of a search for a day, with advice: the search may read old blocks that the source lacks. */
function refuseSearch(error: unknown): never {
  const isRefused = error instanceof ProductError && error.code === 'source_failed';
  if (!isRefused) throw error;
  throw new ProductError(
    'source_failed',
    `${error.message}; use heights in place of days if the source lacks old blocks`,
  );
}

/** Blocks of the first step back from the head. */
const FIRST_STEP = 1024;

/**
 * The first height at or after a time, up to `head`; `head + 1` if there is none. Searches back from the head in growing
 * steps, then bisects the last one, because a source may lack old blocks.
 */
async function firstHeightSince(source: BlockSource, head: number, time: number): Promise<number> {
  const isBefore = async (height: number) => {
    // The first block has no time.
    if (height === 0) return true;
    const found = timeOf(await source.block(height).catch(refuseSearch));
    if (found !== null) return found < time;
    throw new ProductError('source_failed', `block ${height} has no time: use heights in place of days`);
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

/** A bound of a range: a height, or a time in milliseconds. An upper height is inclusive, an upper time exclusive. */
export type RangeBound = { readonly height: number } | { readonly time: number };

/** A height or a day as a bound. `dayMs` is 0 for a lower bound, and the length of a day for an upper one. */
export const boundOf = (value: number | string, dayMs: number): RangeBound =>
  typeof value === 'number' ? { height: value } : { time: Date.parse(value) + dayMs };

/** The heights between two bounds, up to the finalized head of a source. Throws `usage` if there are none. */
export async function heightsBetween(
  source: BlockSource,
  from: RangeBound,
  to: RangeBound | undefined,
): Promise<{ from: number; to: number }> {
  const { number: head } = await source.head();
  const since = (edge: RangeBound) =>
    'height' in edge ? edge.height : firstHeightSince(source, head, edge.time);
  const first = await since(from);
  // Blocks above the finalized head may still be replaced: `follow` loads them.
  const last = to === undefined ? head : Math.min(head, (await since(to)) - ('height' in to ? 0 : 1));
  if (first <= last) return { from: first, to: last };
  throw new ProductError(
    'usage',
    `there are no blocks from ${first} to ${last}: the finalized head is ${head}`,
  );
}

/** The times of a range; undefined if both bounds are heights. */
export function timesBetween(
  from: RangeBound,
  to: RangeBound | undefined,
): { readonly from: number; readonly until: number } | undefined {
  const isTimed = 'time' in from || (to !== undefined && 'time' in to);
  if (!isTimed) return undefined;
  return {
    from: 'time' in from ? from.time : 0,
    until: to !== undefined && 'time' in to ? to.time : Number.POSITIVE_INFINITY,
  };
}
