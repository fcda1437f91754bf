import { describe, expect, it } from 'vitest';
import type { PlannedWindow } from '../../../aggregate/planner/plan.ts';
import {
  type FailedMetric,
  isDue,
  nextFailure,
  stalledMetrics,
  withDependents,
} from '../../../aggregate/runner/failures.ts';
import { Schedule } from '../../../aggregate/runner/schedule.ts';

/** `sums` reads `days`, `report` reads `sums`; `prices` stands alone. */
const READS = new Map(
  Object.entries({ days: ['blocks'], sums: ['days'], report: ['sums', 'chains'], prices: ['blocks'] }).map(
    ([name, tables]) => [name, new Set(tables)],
  ),
);
const LEVELS: Record<string, number> = { days: 0, prices: 0, sums: 1, report: 2 };
const window = (metric: string, day = 1): PlannedWindow => ({
  metric,
  relays: ['polkadot'],
  from: `2024-01-0${day}`,
  until: `2024-01-0${day + 1}`,
  level: LEVELS[metric] as number,
});
const WINDOWS = [window('report'), window('days'), window('sums'), window('prices'), window('days', 2)];

function taken(schedule: Schedule): PlannedWindow[] {
  const windows: PlannedWindow[] = [];
  for (let next = schedule.take(); next; next = schedule.take()) windows.push(next);
  return windows;
}
const names = (windows: readonly PlannedWindow[]) => windows.map(({ metric }) => metric).sort();

describe('the windows of a round', () => {
  it('are taken newest first, and wait for all windows of what their metric reads, and for nothing else', () => {
    const schedule = new Schedule(WINDOWS, READS);
    const [later, days, prices] = taken(schedule) as [PlannedWindow, PlannedWindow, PlannedWindow];
    expect([later, days, prices]).toEqual([window('days', 2), window('days'), window('prices')]);
    schedule.computed(later);
    expect(taken(schedule)).toEqual([]);
    schedule.computed(days);
    const [sums] = taken(schedule) as [PlannedWindow];
    expect(sums.metric).toBe('sums');
    schedule.computed(sums);
    expect(names(taken(schedule))).toEqual(['report']);
    expect(schedule.isOver).toBe(false);
    schedule.computed(prices);
    schedule.computed(window('report'));
    expect(schedule.isOver).toBe(true);
    expect(schedule.failures.size).toBe(0);
  });

  it('of a metric that fails, and of all that read it, are left out; the others are computed', () => {
    const schedule = new Schedule(WINDOWS, READS);
    const first = taken(schedule);
    const failed = first.filter(({ metric }) => metric === 'days');
    // The windows of `sums` and `report`.
    expect(schedule.failed(failed[1] as PlannedWindow, { reason: 'no such table' })).toBe(2);
    schedule.computed(failed[0] as PlannedWindow);
    schedule.computed(window('prices'));
    expect(schedule.isOver).toBe(true);
    expect([...schedule.failures]).toEqual([
      [
        'days',
        {
          relay_chains: ['polkadot'],
          from_day: '2024-01-01',
          until_day: '2024-01-02',
          reason: 'no such table',
        },
      ],
    ]);
  });
});

describe('a metric that failed', () => {
  const failure = {
    metric: 'days',
    relay_chains: ['polkadot'],
    from_day: '2024-01-01',
    until_day: '2024-01-02',
    reason: 'no such table',
  } as const;
  const limits = { attemptsMax: 4, waitMsMax: 3000 };

  it('is tried again after waits that double up to a limit, and then waits for a person', () => {
    const longest = () => 1;
    let now = 1_000_000;
    let known: FailedMetric | undefined;
    const waits: (number | null)[] = [];
    for (let attempt = 1; attempt <= 4; attempt++) {
      known = nextFailure(known, failure, now, limits, longest);
      const next = known.next_attempt_at === null ? null : Date.parse(known.next_attempt_at) - now;
      waits.push(next);
      now += next ?? 0;
    }
    expect(waits).toEqual([1000, 2000, 3000, null]);
    expect(known).toMatchObject({ attempts: 4, failed_since: new Date(1_000_000).toISOString() });
    expect(isDue(known as FailedMetric, now + 1e9)).toBe(false);
  });

  it('is due after its wait, and when the clock was set back', () => {
    const known = nextFailure(undefined, failure, 1_000_000, limits, () => 0);
    expect([1_000_000, 1_000_499, 1_000_500, 999_999].map((now) => isDue(known, now))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  it('stops itself and what reads it', () => {
    const known = nextFailure(undefined, failure, 1_000_000, limits);
    expect([...stalledMetrics([known], READS)].sort()).toEqual(['days', 'report', 'sums']);
    expect(stalledMetrics([known], READS, () => true).size).toBe(0);
    expect([...withDependents(['prices'], READS)]).toEqual(['prices']);
  });
});
