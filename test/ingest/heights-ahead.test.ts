import { describe, expect, test } from 'vitest';
import { HeightsAhead, rangesOf } from '../../ingest/heights-ahead.ts';

const heads = (chain: string, ...numbers: number[]) =>
  numbers.map((number) => ({ relay_chain: 'polkadot', chain, number: String(number) }));

/** Whether a batch is apart from one before it. */
function isApart(before: ReturnType<typeof heads>, batch: ReturnType<typeof heads>): boolean {
  const ahead = new HeightsAhead();
  const [first, second] = [ahead.take(), ahead.take()];
  first.ranges = rangesOf(before);
  second.ranges = rangesOf(batch);
  return ahead.isApart(second);
}

describe('a batch is apart from one before it', () => {
  test.each([
    ['of another chain', heads('astar', 5, 9), heads('hydration', 5, 9), true],
    ['of lower heights', heads('astar', 5, 9), heads('astar', 12, 10), true],
    ['of higher heights', heads('astar', 5, 9), heads('astar', 1, 3), true],
    ['of the child of its highest height', heads('astar', 5, 9), heads('astar', 1, 4), false],
    ['of one of its heights', heads('astar', 5, 9), heads('astar', 9, 20), false],
    ['of heights between its own', heads('astar', 5, 9), heads('astar', 1, 20), false],
    ['of heights around its own', heads('astar', 1, 20), heads('astar', 5, 9), false],
    ['of no heights', [], heads('astar', 5), true],
    [
      'of one of its heights, among other chains',
      [...heads('hydration', 1), ...heads('astar', 5)],
      heads('astar', 5),
      false,
    ],
  ])('%s', (_which, before, batch, expected) => {
    expect(isApart(before, batch)).toBe(expected);
  });
});

test('a batch is apart when every one before it was read or has ended, whatever comes after it', () => {
  const ahead = new HeightsAhead();
  const [first, second, third] = [ahead.take(), ahead.take(), ahead.take()];
  second.ranges = rangesOf(heads('astar', 10));
  third.ranges = rangesOf(heads('astar', 10));
  expect(ahead.isApart(second)).toBe(false);
  first.ranges = rangesOf(heads('astar', 10));
  expect(ahead.isApart(second)).toBe(false);
  ahead.end(first);
  expect(ahead.isApart(second)).toBe(true);
  expect(ahead.isApart(third)).toBe(false);
});
