import { describe, expect, it } from 'vitest';
import { DroppedKeys } from '../../../aggregate/alerts/processor/dropped-keys.ts';

const NEEDED_MS = 180_000;
const BYTES = 30_000;
const keyOf = (of: number) => `8ae2945f678472e4|0d7e138b094fa28a:08dcd0f670d4fc4${of % 10}|firing|${of}`;

describe('dropped keys', () => {
  it('are known for as long as they are needed, however many others follow', () => {
    const dropped = new DroppedKeys(BYTES);
    const stepMs = 7;
    for (let i = 0; i * stepMs < 3 * NEEDED_MS; i++) {
      dropped.add(keyOf(i), i * stepMs, NEEDED_MS);
      const oldest = Math.max(0, i - NEEDED_MS / stepMs);
      const since = i * stepMs - NEEDED_MS;
      expect(dropped.has(keyOf(i), since)).toBe(true);
      expect(dropped.has(keyOf(Math.ceil(oldest)), since)).toBe(true);
    }
    expect(dropped.bytes).toBeLessThanOrEqual(BYTES);
  });

  it('are forgotten after that, which those are told who are not as far', () => {
    const dropped = new DroppedKeys(BYTES);
    dropped.add('first', 0, NEEDED_MS);
    for (let at = 0; at < 3 * NEEDED_MS; at += 1000) dropped.add(keyOf(at), at, NEEDED_MS);
    expect(dropped.has('first', 2 * NEEDED_MS)).toBe(false);
    expect(dropped.has('first', 0)).toBe(true);
    expect(dropped.has('never dropped', 0)).toBe(true);
  });

  it('are few of those that were not dropped', () => {
    const dropped = new DroppedKeys(BYTES);
    const count = 4000;
    for (let i = 0; i < count; i++) dropped.add(keyOf(i), 0, NEEDED_MS);
    const others = Array.from({ length: 10_000 }, (_, i) => keyOf(count + i));
    expect(others.filter((key) => dropped.has(key, 0)).length).toBeLessThan(20);
  });

  it('take no memory before there is one, and are all keys where they may take none', () => {
    expect(new DroppedKeys(BYTES).bytes).toBe(0);
    expect(new DroppedKeys(BYTES).has('any', 0)).toBe(false);
    const without = new DroppedKeys(0);
    without.add('one', 0, NEEDED_MS);
    expect(without.has('any', 0)).toBe(true);
    expect(without.bytes).toBe(0);
  });
});
