import { LRUCache } from 'lru-cache';
import { matchLabelsOf } from '../matchers/match-labels.ts';
import { compileMatchers } from '../matchers/matcher-list.ts';
import { parseMatchers } from '../matchers/parse.ts';
import type { AlertItem } from '../model/alert.ts';

type IsHeartbeat = (item: AlertItem) => boolean;

/** Caches parsed matchers, because every delivery of an integration has the same ones. */
const compiled = new LRUCache<string, IsHeartbeat>({ max: 1000 });

/** Marks firing items that match as heartbeats. '' marks none. */
export function markHeartbeats<Item extends AlertItem | null>(
  items: readonly Item[],
  matchers: string,
): readonly Item[] {
  if (matchers === '') return items;
  const isHeartbeat = compiledFrom(matchers);
  return items.map((item) =>
    item?.effect === 'fire' && isHeartbeat(item) ? { ...item, effect: 'heartbeat' } : item,
  );
}

function compiledFrom(text: string): IsHeartbeat {
  const cached = compiled.get(text);
  if (cached !== undefined) return cached;
  const matches = compileMatchers(parseMatchers(text));
  const isHeartbeat: IsHeartbeat = (item) => {
    const alert = { ...item, match_labels: item.matchLabels, has_cut_labels: item.hasCutLabels };
    // Heartbeat matchers belong to one integration, so `cm_integration` is empty here.
    return matches(matchLabelsOf(alert, ''));
  };
  compiled.set(text, isHeartbeat);
  return isHeartbeat;
}
