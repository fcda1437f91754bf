import { describe, expect, it } from 'vitest';
import type { DirtyDay } from '../../../aggregate/planner/dirty-groups.ts';
import { ANY_PALLET } from '../../../ingest/raw/tables.ts';
import { blocks, dirty, metricOf, planned } from './planned.ts';

describe('the hours of a metric that a dirty day invalidates', () => {
  const hourly = metricOf('Hourly', [blocks], { materialized: 'hourly' });
  const inHours = (day: string, ...hours: number[]): DirtyDay => ({ ...dirty(day), hours });

  it('are those that changed, joined where they adjoin', () => {
    expect(planned([hourly], [inHours('2026-03-04', 5, 17, 6)])).toEqual([
      'hourly 2026-03-04 05:00:00..2026-03-04 07:00:00',
      'hourly 2026-03-04 17:00:00..2026-03-04 18:00:00',
    ]);
    expect(planned([hourly], [inHours('2026-03-04', 23), inHours('2026-03-05', 0)])).toEqual([
      'hourly 2026-03-04 23:00:00..2026-03-05 01:00:00',
    ]);
  });

  it('are all of the day where its hours are not known, and for metrics of days', () => {
    const daily = metricOf('Daily', [hourly.table]);
    expect(planned([hourly], [inHours('2026-03-04', 5), dirty('2026-03-04', 'moonbeam')])).toEqual([
      'hourly 2026-03-04..2026-03-05',
    ]);
    expect(planned([hourly, daily], [inHours('2026-03-04', 5)])).toEqual([
      'hourly 2026-03-04 05:00:00..2026-03-04 06:00:00',
      'daily 2026-03-04..2026-03-05',
    ]);
  });

  it('begin with the day where others follow, else with the hour, and have the next of these, with the scope neighbours', () => {
    const neighbourly = metricOf('Neighbourly', [blocks], {
      materialized: 'hourly',
      invalidationScope: 'neighbours',
    });
    expect(planned([neighbourly], [inHours('2026-03-04', 5)])).toEqual([
      'neighbourly 2026-03-04..2026-03-06',
    ]);
    const days = new Map([['polkadot/polkadot', ['2026-03-03', '2026-03-04']]]);
    expect(planned([neighbourly], [inHours('2026-03-04', 5)], { days })).toEqual([
      'neighbourly 2026-03-04 05:00:00..2026-03-05',
    ]);
    expect(planned([neighbourly], [inHours('2026-03-31', 5)])).toEqual([
      'neighbourly 2026-03-11..2026-04-01',
    ]);
    // The day may have lost all of its blocks.
    expect(planned([neighbourly], [{ ...inHours('2026-03-04', 5), pallet: ANY_PALLET }])).toEqual([
      'neighbourly 2026-03-04..2026-03-06',
    ]);
  });

  it('go on to the end of the last day with the scope onward', () => {
    const summing = metricOf('Summing', [hourly.table], {
      materialized: 'hourly',
      invalidationScope: 'onward',
    });
    const monthly = metricOf('Monthly', [summing.table], {
      materialized: 'monthly',
      invalidationScope: 'onward',
    });
    expect(planned([hourly, summing, monthly], [inHours('2026-03-31', 5)])).toEqual([
      'hourly 2026-03-31 05:00:00..2026-03-31 06:00:00',
      'summing 2026-03-31 05:00:00..2026-04-01',
      'monthly 2026-03-01..2026-04-01',
    ]);
  });

  it('are those of the metrics that it reads, where rows of days unite hours', () => {
    const united = metricOf('United', [hourly.table], { materialized: 'hourly' });
    const replaced = { ...inHours('2026-03-02', 7), pallet: ANY_PALLET };
    expect(planned([hourly, united], [inHours('2026-03-04', 5), replaced])).toEqual([
      'hourly 2026-03-02 07:00:00..2026-03-02 08:00:00',
      'hourly 2026-03-04 05:00:00..2026-03-04 06:00:00',
      'united 2026-03-02 07:00:00..2026-03-02 08:00:00',
      'united 2026-03-04 05:00:00..2026-03-04 06:00:00',
    ]);
  });
});
