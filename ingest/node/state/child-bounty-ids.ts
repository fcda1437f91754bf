import { z } from 'zod';
import { isFirstHome } from '../../chains/homes.ts';
import type { Subject } from '../../sources/snapshot-line.ts';
import { mapPages, type StateRpc } from '../map-pages.ts';
import { NodeRefusal } from '../rpc-errors.ts';
import type { BlockTimes, StateMoment } from './block-times.ts';
import type { BlockState } from './state.ts';
import { itemPrefix } from './storage.ts';

const IDS = itemPrefix('ChildBounties', 'V0ToV1ChildBountyIds');
const key = z.tuple([z.string()]);
const renamed = z.tuple([z.string(), z.string()]);

/** The old and new ids of renumbered child bounties. */
export async function childBountyIds(state: BlockState): Promise<object> {
  const ids: object[] = [];
  for await (const page of state.entries('ChildBounties', 'V0ToV1ChildBountyIds')) {
    for (const { parts, value } of page) {
      const [old] = key.parse(parts);
      const [parent, fresh] = renamed.parse(value);
      ids.push({ parent, old, new: fresh });
    }
  }
  return { ids };
}

interface Search {
  readonly rpc: StateRpc;
  readonly times: BlockTimes;
  readonly head: number;
  /** Milliseconds; `until` is exclusive. */
  readonly from: number;
  readonly until: number;
}

/**
 * Finds the block that renumbered the child bounties: the first one with entries in the map. Null if it is outside the
 * range, or if the node lacks its state. Only the first home of the treasury has such a block; later homes copied the map.
 */
export async function findRenumbering(
  { registry, chain }: Subject,
  { rpc, times, head, from, until }: Search,
): Promise<StateMoment | null> {
  if (!isFirstHome(registry, chain, 'treasury')) return null;
  const hasIds = async (height: number) => {
    for await (const _page of mapPages({ rpc, hash: await times.hashOf(height) }, IDS, 'keys')) return true;
    return false;
  };
  try {
    let low = await times.lastBefore(from, head);
    let high = await times.lastBefore(until, head);
    if (high <= low || !(await hasIds(high)) || (low >= 0 && (await hasIds(low)))) return null;
    while (high - low > 1) {
      const middle = Math.floor((low + high) / 2);
      if (await hasIds(middle)) high = middle;
      else low = middle;
    }
    const time = await times.timeOf(high);
    return time === null ? null : { height: high, hash: await times.hashOf(high), time };
  } catch (error) {
    // A node without the earlier state cannot find the block.
    if (error instanceof NodeRefusal) return null;
    throw error;
  }
}
