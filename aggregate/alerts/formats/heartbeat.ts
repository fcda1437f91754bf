import { LRUCache } from 'lru-cache';
import { matchLabelsOf } from '../matchers/match-labels.ts';
import { compileMatchers } from '../matchers/matcher-list.ts';
import { parseMatchers } from '../matchers/parse.ts';
import type { AlertItem } from '../model/alert.ts';

type IsHeartbeat = (item: AlertItem) => boolean;

/** Matchers of integrations, which are parsed once and not for each delivery. */
const compiled = new LRUCache<string, IsHeartbeat>({ max: 1000 });

/** The items with the effect `heartbeat` for those that fire and match; '' matches none. */
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
  const known = compiled.get(text);
  if (known !== undefined) return known;
  const matches = compileMatchers(parseMatchers(text));
  const isHeartbeat: IsHeartbeat = (item) => {
    const alert = { ...item, match_labels: item.matchLabels, has_cut_labels: item.hasCutLabels };
    // A delivery does not carry the name of its integration, which the matchers belong to anyway.
    return matches(matchLabelsOf(alert, ''));
  };
  compiled.set(text, isHeartbeat);
  return isHeartbeat;
}
