import { expect, test } from 'vitest';
import { AgedMap } from '../../../aggregate/alerts/reducer/aged-map.ts';
import { Random } from '../../../ingest/demo/random.ts';

/** Puts, deletes and looks up keys at random, beside a list in which each put moves its key to the end. */
function compare(seed: number, { keys, steps }: { keys: number; steps: number }): void {
  const random = new Random(seed);
  const map = new AgedMap<{ readonly of: number }>();
  const list: { key: string; of: number }[] = [];
  const indexOf = (key: string) => list.findIndex((entry) => entry.key === key);
  for (let i = 0; i < steps; i++) {
    // Grows at first, then shrinks.
    const key = `${'k'.repeat(random.whole(0, 1))}${random.whole(1, keys)}`;
    const at = indexOf(key);
    expect(map.has(key)).toBe(at >= 0);
    expect(map.get(key)?.of).toBe(list[at]?.of);
    if (random.chance(i < steps / 2 ? 0.7 : 0.3)) {
      map.put(key, { of: i });
      if (at >= 0) list.splice(at, 1);
      list.push({ key, of: i });
    } else if (random.chance(0.5)) {
      expect(map.delete(key)).toBe(at >= 0);
      if (at >= 0) list.splice(at, 1);
    } else {
      const [oldest, value] = map.oldest() ?? [];
      expect([oldest, value?.of]).toEqual([list[0]?.key, list[0]?.of]);
      if (oldest !== undefined && random.chance(0.5)) {
        map.delete(oldest);
        list.shift();
      }
    }
    expect(map.size).toBe(list.length);
  }
  for (const { key, of } of list.splice(0)) {
    expect([map.oldest()?.[0], map.get(key)?.of]).toEqual([key, of]);
    map.delete(key);
  }
  expect([map.size, map.oldest()]).toEqual([0, undefined]);
}

test('the oldest entry, and each that is looked up, is that of a list in which a put moves its key to the end', () => {
  for (let seed = 1; seed <= 20; seed++) compare(seed, { keys: 2 + 15 * seed, steps: 3000 });
});

test('a hundred thousand entries come and go in their order, as often as one after the other', () => {
  const map = new AgedMap<{ readonly of: number }>();
  const COUNT = 100_000;
  for (let i = 0; i < 3 * COUNT; i++) {
    map.put(`group|fingerprint|firing|${i}`, { of: i });
    if (i < COUNT) continue;
    const [key = '', value] = map.oldest() ?? [];
    expect(value?.of).toBe(i - COUNT);
    map.delete(key);
  }
  expect(map.size).toBe(COUNT);
  expect(map.has(`group|fingerprint|firing|${2 * COUNT - 1}`)).toBe(false);
  expect(map.get(`group|fingerprint|firing|${2 * COUNT}`)?.of).toBe(2 * COUNT);
});
