import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { Sequence, SharedSequence, sequenceAt } from '../../../infra/coordination/sequence.ts';
import { EmbeddedKeyValue } from '../../../infra/embedded/key-value.ts';

describe('a sequence', () => {
  test('allocates increasing numbers, also within one millisecond', () => {
    const sequence = new Sequence({ now: () => 1_700_000_000_000 });
    let end = 0n;
    for (const size of [1, 5, 1, 1_000_000, 3, 200_000, 1]) {
      const first = sequence.take(size);
      expect(first).toBeGreaterThanOrEqual(end);
      end = first + BigInt(size);
    }
  });

  test('has the time in the upper bits', () => {
    const now = 1_700_000_000_123;
    expect(new Sequence({ now: () => now }).take(1) >> 20n).toBe(BigInt(now));
  });

  test('does not decrease when the clock does', () => {
    let now = 1_700_000_000_000;
    const sequence = new Sequence({ now: () => now });
    const before = sequence.take(10);
    now -= 86_400_000;
    const after = sequence.take(10);
    expect(after).toBe(before + 10n);
    expect(sequence.take(1)).toBe(after + 10n);
    now += 2 * 86_400_000;
    expect(sequence.take(1) >> 20n).toBe(BigInt(now));
  });

  test('continues after the newest number of an earlier process, also with an earlier clock', () => {
    const newest = (2_000_000_000_000n << 20n) + 17n;
    const sequence = new Sequence({ now: () => 1_700_000_000_000 }, newest);
    expect(sequence.take(5)).toBe(newest + 1n);
    expect(sequence.take(1)).toBe(newest + 6n);
  });

  test('fits 63 bits until the year 2248, so that a version can carry a bit above it', () => {
    expect(new Sequence({ now: () => Date.UTC(2248, 0, 1) }).take(1)).toBeLessThan(2n ** 63n);
  });

  test('never repeats a number with a random clock', () => {
    let now = 1_700_000_000_000;
    const sequence = new Sequence({ now: () => now });
    let end = 0n;
    for (let i = 1; i < 5000; i++) {
      now += ((i * 7919) % 41) - 20;
      const size = ((i * 31) % 50) + 1;
      const first = sequence.take(size);
      expect(first >= end).toBe(true);
      end = first + BigInt(size);
    }
  });
});

describe('a shared sequence', () => {
  let now: number;
  let keys: EmbeddedKeyValue;
  beforeEach(() => {
    now = 1_700_000_000_000;
    keys = new EmbeddedKeyValue({ now: () => now });
  });
  afterEach(() => keys.close());
  const clock = (offset: number) => ({ now: () => now + offset });
  const open = (newest = 0n, offset = 0) => new SharedSequence(keys, clock(offset), async () => newest);

  test('increases over all processes, whatever their clocks are', async () => {
    const [early, late] = [open(0n, -50_000), open(0n, 50_000)];
    const taken: bigint[] = [];
    for (let i = 0; i < 20; i++) taken.push(await (i % 2 === 0 ? late : early).take(1 + (i % 3)));
    expect(taken).toEqual([...taken].sort((a, b) => (a < b ? -1 : 1)));
    expect(new Set(taken).size).toBe(20);
  });

  test('starts above the newest number of the store, also when keyValue was emptied and the clock went back', async () => {
    const newest = sequenceAt(now + 1_000_000);
    const process = open(newest);
    expect(await process.take(1)).toBe(newest + 1n);
    await keys.delete('sequence');
    now -= 500_000;
    expect(await process.take(1)).toBeGreaterThan(newest + 1n);
    await keys.delete('sequence');
    expect(await open(newest + 7n).take(1)).toBeGreaterThan(newest + 7n);
  });
});
