import { expect, test } from 'vitest';
import { AgedMap } from '../../../aggregate/alerts/reducer/aged-map.ts';
import { Random } from '../../../ingest/demo/random.ts';

test('the oldest entry is that of a list in which each put moves its key to the end', () => {
  const random = new Random(1);
  const map = new AgedMap<number, { readonly of: number }>();
  const list: number[] = [];
  for (let i = 0; i < 20_000; i++) {
    // Grows at first, then shrinks.
    const key = random.whole(1, 300);
    const at = list.indexOf(key);
    if (random.chance(i < 10_000 ? 0.7 : 0.3)) {
      map.put(key, { of: i });
      if (at >= 0) list.splice(at, 1);
      list.push(key);
    } else if (random.chance(0.5)) {
      expect(map.delete(key)).toBe(at >= 0);
      if (at >= 0) list.splice(at, 1);
    } else {
      const [oldest] = map.oldest() ?? [];
      expect(oldest).toBe(list[0]);
      if (oldest !== undefined && random.chance(0.5)) {
        map.delete(oldest);
        list.shift();
      }
    }
    expect(map.size).toBe(list.length);
  }
  expect([...map.keys()]).toEqual(list);
});
