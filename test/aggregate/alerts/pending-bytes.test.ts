import { expect, test } from 'vitest';
import { PendingBytes } from '../../../aggregate/alerts/processor/pending-bytes.ts';

/** Adds for each project in turn until none of them is accepted any more; returns what each holds. */
function flood(pending: PendingBytes, projects: readonly number[], bytes = 1): number[] {
  const held = projects.map(() => 0);
  for (let isAny = true; isAny; ) {
    isAny = false;
    for (const [i, project] of projects.entries()) {
      if (pending.isFull(project)) continue;
      pending.add(project, bytes);
      held[i] = (held[i] as number) + bytes;
      isAny = true;
    }
  }
  return held;
}

test('a project alone holds four fifths, and of those that flood each as much, with room left for another', () => {
  expect(flood(new PendingBytes(1000), [7])).toEqual([801]);
  for (const count of [2, 5, 20]) {
    const pending = new PendingBytes(100_000);
    const held = flood(
      pending,
      Array.from({ length: count }, (_, i) => i),
    );
    const share = (4 * 100_000) / (4 * count + 1);
    for (const bytes of held) expect(Math.abs(bytes - share)).toBeLessThanOrEqual(count);
    expect(pending.isFull(count)).toBe(false);
    expect(pending.isOverLimit).toBe(false);
  }
});

test('above the limit every project is full, and what is removed makes room again', () => {
  const pending = new PendingBytes(1000);
  pending.add(1, 1001);
  expect([pending.isOverLimit, pending.isFull(1), pending.isFull(2)]).toEqual([true, true, true]);
  pending.remove(1, 501);
  expect([pending.total, pending.isOverLimit, pending.isFull(1), pending.isFull(2)]).toEqual([
    500,
    false,
    false,
    false,
  ]);
  pending.remove(1, 500);
  expect(pending.total).toBe(0);
});
