import { hash } from 'node:crypto';
import { SERIES_MAX } from '../model/chart-state.ts';

/**
 * Assigns a palette index to each line by its rank among all lines of the page, or the next free index. A line mostly
 * keeps its colour when other lines are added or removed, in any order.
 */
export function assignColours(ids: readonly string[], rankOf: (id: string) => number): readonly number[] {
  const places = new Map<number, string>();
  const ranked = [...ids].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1));
  for (const id of ranked) {
    let place = rankOf(id) % SERIES_MAX;
    while (places.has(place) && places.size < SERIES_MAX) place = (place + 1) % SERIES_MAX;
    places.set(place, id);
  }
  const byId = new Map([...places].map(([place, id]) => [id, place]));
  return ids.map((id) => byId.get(id) ?? 0);
}

/** A pseudo-random rank, for pages that have no list of all lines. */
export const hashRank = (id: string): number => Number.parseInt(hash('sha256', id).slice(0, 8), 16);
