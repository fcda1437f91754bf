import { hash } from 'node:crypto';
import { SERIES_MAX } from '../model/chart-state.ts';

/**
 * The places of the colours of lines, in whatever order they are named: each has the one of its rank among all lines
 * that a page can draw, or the next that is free, so that it mostly keeps it when others come and go.
 */
export function colourPlaces(ids: readonly string[], rankOf: (id: string) => number): readonly number[] {
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

/** The rank of a line where any may be drawn: there is no list of all. */
export const rankOfAny = (id: string): number => Number.parseInt(hash('sha256', id).slice(0, 8), 16);
