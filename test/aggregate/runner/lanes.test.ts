import { describe, expect, it } from 'vitest';
import {
  byMarks,
  firstLiveDay,
  hasRowsOf,
  isComputed,
  type Marks,
  NOT_COMPUTED,
  provenForAll,
} from '../../../aggregate/runner/lanes.ts';

const NOW = Date.UTC(2026, 5, 10, 12);

it('the live lane has the last days, the running one included', () => {
  expect(firstLiveDay(NOW, 1)).toBe('2026-06-10');
  expect(firstLiveDay(NOW, 3)).toBe('2026-06-08');
});

describe('a change of a day is in the rows', () => {
  const marks: Marks = {
    all: 10n,
    lanes: { live: { sequence: 30n, day: '2026-06-08' }, backfill: { sequence: 20n, day: '2026-06-07' } },
  };
  it.each([
    ['of a load that every day has', '2020-01-01', 10n, true],
    ['of a live day, by the mark of the live lane', '2026-06-08', 30n, true],
    ['of a live day, by a load after that', '2026-06-08', 31n, false],
    ['of an old day, by the mark of the backfill lane', '2026-06-06', 20n, true],
    ['of an old day, although the live lane is further', '2026-06-06', 21n, false],
    ['of the day between the lanes, which no mark names', '2026-06-07', 11n, false],
  ])('%s', (_title, day, sequence, isIn) => {
    expect(isComputed(marks, day, sequence)).toBe(isIn);
  });

  it('never of a metric that was never computed', () => {
    expect(isComputed(NOT_COMPUTED, '2026-06-08', 1n)).toBe(false);
    expect(hasRowsOf(NOT_COMPUTED, 'live')).toBe(false);
    expect(hasRowsOf({ all: 0n, lanes: { live: { sequence: 1n, day: '2026-06-08' } } }, 'live')).toBe(true);
  });
});

describe('both lanes prove a load for all days', () => {
  const marks = (live: [bigint, string] | null, backfill: [bigint, string] | null, all = 0n): Marks => ({
    all,
    lanes: {
      ...(live ? { live: { sequence: live[0], day: live[1] } } : {}),
      ...(backfill ? { backfill: { sequence: backfill[0], day: backfill[1] } } : {}),
    },
  });
  it.each([
    ['the lower of their marks', marks([30n, '2026-06-08'], [20n, '2026-06-08']), 20n],
    ['where their days overlap', marks([30n, '2026-06-07'], [40n, '2026-06-09']), 30n],
    ['not where a day is between them', marks([30n, '2026-06-09'], [40n, '2026-06-08']), undefined],
    ['not without one of them', marks([30n, '2026-06-09'], null), undefined],
    ['not below what is known', marks([30n, '2026-06-08'], [20n, '2026-06-08'], 25n), undefined],
  ])('%s', (_title, given, proven) => {
    expect(provenForAll(given)).toBe(proven);
  });
});

it('metrics with equal marks are one group', () => {
  const known = new Map<string, Marks>([
    ['a', { all: 1n, lanes: {} }],
    ['b', { all: 1n, lanes: {} }],
    ['c', { all: 1n, lanes: { live: { sequence: 2n, day: '2026-06-08' } } }],
  ]);
  const groups = byMarks(
    ['a', 'b', 'c', 'd'].map((name) => ({ name })),
    known,
  );
  expect(groups.map(({ metrics }) => metrics.map(({ name }) => name))).toEqual([['a', 'b'], ['c'], ['d']]);
});
