import { describe, expect, it } from 'vitest';
import { sortByLevel } from '../../../aggregate/planner/levels.ts';
import { ALL_TIME } from '../../../aggregate/planner/plan.ts';
import { sql } from '../../../infra/sql.ts';
import { ofPallets } from '../../../ingest/raw/canonical.ts';
import { ANY_PALLET } from '../../../ingest/raw/tables.ts';
import { blocks, dirty, MARCH, metricOf, pickyMetricOf, planned, prices, windowsOf } from './planned.ts';

describe('the days of a metric that a dirty day invalidates', () => {
  const daily = metricOf('Daily', [blocks]);

  it('itself, with the scope day', () => {
    expect(planned([daily], [dirty('2026-03-04')])).toEqual(['daily 2026-03-04..2026-03-05']);
  });

  it('none, where the metric does not read the stream', () => {
    expect(planned([daily], [dirty('2026-03-04', 'polkadot', 'prices')])).toEqual([]);
    expect(planned([daily], [dirty('2026-03-04', 'polkadot', 'snapshots')])).toEqual([]);
  });

  it('none that is frozen, where the metric reads raw rows that may be deleted', () => {
    const all = metricOf('All', [{ name: 'events' }]);
    const some = pickyMetricOf('Some', ofPallets('broker'));
    const of = (...days: readonly string[]) =>
      planned(
        [all, daily, some],
        days.map((day) => ({ ...dirty(day), pallet: ANY_PALLET })),
        { frozenBefore: '2026-03-04', streams: { blocks: [blocks.name, 'events'] } },
      );
    expect(of('2026-03-03')).toEqual(['daily 2026-03-03..2026-03-04', 'some 2026-03-03..2026-03-04']);
    expect(of('2026-03-03', '2026-03-04')).toEqual([
      'all 2026-03-04..2026-03-05',
      'daily 2026-03-03..2026-03-05',
      'some 2026-03-03..2026-03-05',
    ]);
  });

  it('none, where it reads a pallet that no new block of the day has', () => {
    const broker = pickyMetricOf('Broker', ofPallets('broker'));
    const of = (pallet: string) => planned([broker], [{ ...dirty('2026-03-04'), pallet }]);
    expect(of('')).toEqual([]);
    expect(of('staking')).toEqual([]);
    expect(of('broker')).toEqual(['broker 2026-03-04..2026-03-05']);
    expect(of(ANY_PALLET)).toEqual(['broker 2026-03-04..2026-03-05']);
  });

  it('none, where a block was replaced on a day that never held its pallet', () => {
    const metrics = [pickyMetricOf('Broker', ofPallets('broker')), metricOf('Daily', [blocks])];
    const of = (...pallets: string[]) =>
      planned(metrics, [{ ...dirty('2026-03-04'), pallet: ANY_PALLET, pallets }]);
    expect(of('', ANY_PALLET, 'staking')).toEqual(['daily 2026-03-04..2026-03-05']);
    expect(of('', ANY_PALLET, 'broker')).toEqual([
      'broker 2026-03-04..2026-03-05',
      'daily 2026-03-04..2026-03-05',
    ]);
  });

  it('all dirty ones, where it reads blocks besides that pallet', () => {
    const both = pickyMetricOf(
      'Both',
      sql`${ofPallets('broker')} AND number IN (SELECT number FROM ${blocks})`,
    );
    for (const pallet of ['', 'broker', ANY_PALLET])
      expect(planned([both], [{ ...dirty('2026-03-04'), pallet }])).toEqual(['both 2026-03-04..2026-03-05']);
    expect(planned([both], [{ ...dirty('2026-03-04'), pallet: 'staking' }])).toEqual([]);
  });

  it('the days after it within the lookback, up to the last day with data', () => {
    const lookback = metricOf('Lookback', [blocks], { lookbackDays: 3 });
    expect(planned([lookback], [dirty('2026-03-04')])).toEqual(['lookback 2026-03-04..2026-03-07']);
    expect(planned([lookback], [dirty('2026-03-30')])).toEqual(['lookback 2026-03-30..2026-04-01']);
  });

  it('the empty days beside it and the next day with blocks of the same chain, with the scope neighbours', () => {
    const neighbourly = metricOf('Neighbourly', [blocks], { invalidationScope: 'neighbours' });
    expect(planned([neighbourly], [dirty('2026-03-04')])).toEqual(['neighbourly 2026-03-04..2026-03-06']);
    expect(planned([neighbourly], [dirty('2026-03-10')])).toEqual(['neighbourly 2026-03-10..2026-04-01']);
    expect(planned([neighbourly], [dirty('2026-03-31')])).toEqual(['neighbourly 2026-03-11..2026-04-01']);
    // A day that is new to the store has neighbours, too.
    expect(planned([neighbourly], [dirty('2026-03-20')])).toEqual(['neighbourly 2026-03-11..2026-04-01']);
    const days = new Map([
      ['polkadot/polkadot', MARCH],
      ['polkadot/moonbeam', ['2026-03-02', '2026-03-09']],
    ]);
    expect(planned([neighbourly], [dirty('2026-03-02', 'moonbeam')], { days })).toEqual([
      'neighbourly 2026-03-02..2026-03-10',
    ]);
  });

  it('all days from it on, with the scope onward', () => {
    const onward = metricOf('Onward', [blocks], { invalidationScope: 'onward' });
    expect(planned([onward], [dirty('2026-03-04')])).toEqual(['onward 2026-03-04..2026-04-01']);
  });

  it('whole months, for monthly windows', () => {
    const monthly = metricOf('Monthly', [blocks], { materialized: 'monthly' });
    expect(planned([monthly], [dirty('2026-03-04')])).toEqual(['monthly 2026-03-01..2026-04-01']);
  });

  it('the whole history, for whole windows', () => {
    const whole = metricOf('Whole', [blocks], { materialized: 'whole' });
    expect(planned([whole], [dirty('2026-03-04'), dirty('2026-03-31')])).toEqual([
      `whole ${ALL_TIME.from}..${ALL_TIME.until}`,
    ]);
    const folded = metricOf('Folded', [blocks], { materialized: 'whole', fold: () => [] });
    expect(planned([folded], [dirty('2026-03-04'), dirty('2026-03-31')])).toEqual([
      `folded ${ALL_TIME.from}..${ALL_TIME.until}`,
    ]);
    expect(planned([whole], [dirty('2026-03-04', 'polkadot', 'prices')])).toEqual([]);
  });
});

describe('the relay chains that a dirty day invalidates', () => {
  const priced = metricOf('Priced', [blocks, prices]);
  const days = new Map([
    ['polkadot/polkadot', MARCH],
    ['kusama/kusama', MARCH],
  ]);

  it('the relay chain of its chain', () => {
    expect(planned([priced], [dirty('2026-03-04', 'kusama', 'blocks', 'kusama')], { days })).toEqual([
      'priced kusama 2026-03-04..2026-03-05',
    ]);
  });

  it('all of them for a price: any chain may record the price of a token', () => {
    expect(planned([priced], [dirty('2026-03-04', 'polkadot', 'prices')], { days })).toEqual([
      'priced kusama+polkadot 2026-03-04..2026-03-05',
    ]);
  });

  it('together in one window where it is the same; each in one of its own, for folds', () => {
    const folded = metricOf('Folded', [blocks], { fold: () => [] });
    const onKusama = (day: string) => dirty(day, 'kusama', 'blocks', 'kusama');
    expect(planned([priced, folded], [dirty('2026-03-04'), onKusama('2026-03-04')], { days })).toEqual([
      'priced kusama+polkadot 2026-03-04..2026-03-05',
      'folded 2026-03-04..2026-03-05',
      'folded kusama 2026-03-04..2026-03-05',
    ]);
    expect(planned([priced], [dirty('2026-03-04'), onKusama('2026-03-06')], { days })).toEqual([
      'priced 2026-03-04..2026-03-05',
      'priced kusama 2026-03-06..2026-03-07',
    ]);
  });

  it('none without data, and none for a price after the last day with data', () => {
    expect(planned([priced], [dirty('2026-03-04', 'polkadot', 'prices')])).toEqual([
      'priced 2026-03-04..2026-03-05',
    ]);
    expect(planned([priced], [dirty('2026-04-01', 'polkadot', 'prices')])).toEqual([]);
    expect(planned([priced], [dirty('2026-03-04', 'polkadot', 'prices')], { days: new Map() })).toEqual([]);
  });

  it('the relay chain of a first block', () => {
    expect(planned([priced], [dirty('2026-05-01')], { days: new Map() })).toEqual([
      'priced 2026-05-01..2026-05-02',
    ]);
  });
});

describe('metrics that read metrics', () => {
  const base = metricOf('Base', [blocks]);
  const rolling = metricOf('Rolling', [base.table, prices], { lookbackDays: 3 });
  const top = metricOf('Top', [rolling.table], { materialized: 'monthly' });

  it('are computed after the metrics that they read, over all of their windows', () => {
    const windows = windowsOf([top, rolling, base], [dirty('2026-03-04')]);
    const one = { relays: ['polkadot'] };
    expect(windows).toEqual([
      { ...one, metric: 'base', from: '2026-03-04', until: '2026-03-05', level: 0 },
      { ...one, metric: 'rolling', from: '2026-03-04', until: '2026-03-07', level: 1 },
      { ...one, metric: 'top', from: '2026-03-01', until: '2026-04-01', level: 2 },
    ]);
  });

  it('are computed alone when only they read the stream', () => {
    expect(planned([base, rolling], [dirty('2026-03-04', 'polkadot', 'prices')])).toEqual([
      'rolling 2026-03-04..2026-03-07',
    ]);
  });

  it('extend to the last day with the scope onward', () => {
    const folding = metricOf('Folding', [base.table], { invalidationScope: 'onward' });
    expect(planned([base, folding], [dirty('2026-03-04')])).toEqual([
      'base 2026-03-04..2026-03-05',
      'folding 2026-03-04..2026-04-01',
    ]);
  });

  it('must not read each other in a circle', () => {
    const [one, other] = [{ name: 'one' }, { name: 'other' }];
    expect(() => sortByLevel([metricOf('One', [other]), metricOf('Other', [one])])).toThrow(
      /circle: one → other → one/,
    );
  });

  it('may read their own earlier rows', () => {
    expect(sortByLevel([metricOf('Itself', [blocks, { name: 'itself' }])]).map(({ level }) => level)).toEqual(
      [0],
    );
  });
});

describe('one window', () => {
  const daily = metricOf('Daily', [blocks]);
  const everyDay = MARCH.map((day) => dirty(day));

  it('has adjoining days, and days without data between them', () => {
    expect(planned([daily], [dirty('2026-03-05'), dirty('2026-03-04')])).toEqual([
      'daily 2026-03-04..2026-03-06',
    ]);
    expect(planned([daily], [dirty('2026-03-10'), dirty('2026-03-31')])).toEqual([
      'daily 2026-03-10..2026-04-01',
    ]);
    expect(planned([daily], [dirty('2026-03-02'), dirty('2026-03-04')])).toEqual([
      'daily 2026-03-02..2026-03-03',
      'daily 2026-03-04..2026-03-05',
    ]);
  });

  it('has the valid days between others, where these are few', () => {
    const some = ['2026-03-02', '2026-03-05', '2026-03-09'].map((day) => dirty(day));
    expect(planned([daily], some, { validDaysMax: 2 })).toEqual([
      'daily 2026-03-02..2026-03-06',
      'daily 2026-03-09..2026-03-10',
    ]);
    expect(planned([daily], some, { validDaysMax: 3 })).toEqual(['daily 2026-03-02..2026-03-10']);
  });

  it('has at most daysMax days with data; days without data do not count', () => {
    expect(planned([daily], everyDay, { daysMax: 5 })).toEqual([
      'daily 2026-03-01..2026-03-06',
      'daily 2026-03-06..2026-03-31',
      'daily 2026-03-31..2026-04-01',
    ]);
  });

  it('has fewer days where it has several relay chains', () => {
    const days = new Map(['polkadot/polkadot', 'kusama/kusama'].map((chain) => [chain, MARCH]));
    const both = ['2026-03-01', '2026-03-02'].flatMap((day) => [
      dirty(day),
      dirty(day, 'kusama', 'blocks', 'kusama'),
    ]);
    expect(planned([daily], both, { days, daysMax: 3 })).toEqual([
      'daily kusama+polkadot 2026-03-01..2026-03-02',
      'daily kusama+polkadot 2026-03-02..2026-03-03',
    ]);
  });

  it('has the relay chains of other days, unless these have data on its days that are valid', () => {
    const days = (kusama: readonly string[]) =>
      new Map([
        ['polkadot/polkadot', MARCH],
        ['kusama/kusama', kusama],
      ]);
    const ofKusama = (...on: readonly string[]) => on.map((day) => dirty(day, 'kusama', 'blocks', 'kusama'));
    const first = ['2026-03-04', '2026-03-05', '2026-03-06'].map((day) => dirty(day));
    const of = (kusama: readonly string[], ...dirtyDays: readonly string[]) =>
      planned([daily], [...first, ...ofKusama(...dirtyDays)], { days: days(kusama) });
    expect(of(['2026-03-05'], '2026-03-05')).toEqual(['daily kusama+polkadot 2026-03-04..2026-03-07']);
    expect(of([], '2026-03-12')).toEqual([
      'daily 2026-03-04..2026-03-07',
      'daily kusama 2026-03-12..2026-03-13',
    ]);
    expect(of(['2026-03-04'], '2026-03-05')).toEqual([
      'daily 2026-03-04..2026-03-07',
      'daily kusama 2026-03-05..2026-03-06',
    ]);
    expect(
      planned([daily], [...first, ...ofKusama('2026-03-05')], {
        days: days(['2026-03-04']),
        validDaysMax: 1,
      }),
    ).toEqual(['daily kusama+polkadot 2026-03-04..2026-03-07']);
    const bounded = { days: days(['2026-03-06']), daysMax: 3 };
    expect(planned([daily], [...first, ...ofKusama('2026-03-06')], bounded)).toEqual([
      'daily kusama+polkadot 2026-03-04..2026-03-06',
      'daily kusama+polkadot 2026-03-06..2026-03-07',
    ]);
  });

  it('has at most a week with data where a fold holds its facts in memory', () => {
    const folded = metricOf('Folded', [blocks], { fold: () => [] });
    expect(planned([folded], everyDay)).toEqual([
      'folded 2026-03-01..2026-03-08',
      'folded 2026-03-08..2026-04-01',
    ]);
  });

  it('has whole months, whatever their number of days', () => {
    const monthly = metricOf('Monthly', [blocks], { materialized: 'monthly' });
    expect(planned([monthly], everyDay, { daysMax: 2 })).toEqual(['monthly 2026-03-01..2026-04-01']);
  });

  it('is the same for any order and repetition of the dirty days', () => {
    const days = [dirty('2026-03-09'), dirty('2026-03-02'), dirty('2026-03-01'), dirty('2026-03-05')];
    const once = planned([daily], days);
    expect(planned([daily], [...days, ...days.toReversed()])).toEqual(once);
  });
});
