import { describe, expect, test } from 'vitest';
import { Sequence } from '../../../infra/coordination/sequence.ts';

describe('the order of reading', () => {
  test('every number is given once, in growing order, also within one millisecond', () => {
    const sequence = new Sequence({ now: () => 1_700_000_000_000 });
    let end = 0n;
    for (const size of [1, 5, 1, 1_000_000, 3, 200_000, 1]) {
      const first = sequence.take(size);
      expect(first).toBeGreaterThanOrEqual(end);
      end = first + BigInt(size);
    }
  });

  test('the time of reading stands in the upper bits', () => {
    const now = 1_700_000_000_123;
    expect(new Sequence({ now: () => now }).take(1) >> 20n).toBe(BigInt(now));
  });

  test('does not go back when the clock does', () => {
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

  test('goes on behind the newest number of an earlier process, also under an earlier clock', () => {
    const newest = (2_000_000_000_000n << 20n) + 17n;
    const sequence = new Sequence({ now: () => 1_700_000_000_000 }, newest);
    expect(sequence.take(5)).toBe(newest + 1n);
    expect(sequence.take(1)).toBe(newest + 6n);
  });

  test('fits 63 bits until the year 2248, so that a version can carry a bit above it', () => {
    expect(new Sequence({ now: () => Date.UTC(2248, 0, 1) }).take(1)).toBeLessThan(2n ** 63n);
  });

  test('under a random clock it never repeats a number', () => {
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
