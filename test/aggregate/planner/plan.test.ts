import { describe, expect, it } from 'vitest';
import { type MaterializedMetric, metric } from '../../../aggregate/metric.ts';
import { byLevel, type DirtyDay, EVERYTHING, type PlanInput, plan } from '../../../aggregate/planner/plan.ts';
import { day, name } from '../../../infra/clickhouse/columns.ts';
import { join, type NamedTable, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalEvents, ofPallets } from '../../../ingest/raw/canonical.ts';
import { ANY_PALLET } from '../../../ingest/raw/tables.ts';

const blocks: NamedTable = { name: 'blocks' };
const prices: NamedTable = { name: 'prices' };

type Traits = Partial<
  Pick<MaterializedMetric, 'materialized' | 'invalidationScope' | 'lookbackDays' | 'daysMax'>
>;

function metricOf(record: string, reads: readonly NamedTable[], traits: Traits = {}): MaterializedMetric {
  return metric({
    record,
    doc: 'a metric for the planner',
    columns: { date: day('day'), relay_chain: name('relay chain'), chain: name('chain') },
    key: ['date', 'relay_chain', 'chain'],
    materialized: 'daily',
    period: 'date',
    invalidationScope: 'day',
    lookbackDays: 1,
    select: () => sql`SELECT 1 FROM ${join(reads.map((table) => sql`${table}`))}`,
    endpoints: [],
    ...traits,
  });
}

/** A metric of events under a condition. */
const pickyMetricOf = (record: string, where: Sql): MaterializedMetric => ({
  ...metricOf(record, []),
  select: (window) => canonicalEvents(window, where),
});

const touch = (day: string, chain = 'polkadot', stream = 'blocks', relay_chain = 'polkadot'): DirtyDay => ({
  stream,
  pallet: '',
  relay_chain,
  chain,
  day,
});

/** Blocks from the 1st to the 10th of March and on its last day. */
const MARCH = [
  ...Array.from({ length: 10 }, (_, index) => `2026-03-${String(index + 1).padStart(2, '0')}`),
  '2026-03-31',
];

function windowsOf(
  metrics: readonly MaterializedMetric[],
  touches: readonly DirtyDay[],
  more: Partial<PlanInput> = {},
) {
  return plan({
    dirtyDays: touches,
    metrics,
    streams: { blocks: [blocks.name], prices: [prices.name] },
    days: new Map([['polkadot/polkadot', MARCH]]),
    snapshotDays: new Map(),
    relays: ['polkadot', 'kusama'],
    daysMax: 100,
    ...more,
  });
}

/** A plan as text: metric, relay chain where it is not the usual one, first day and the day after the last. */
function planned(
  metrics: readonly MaterializedMetric[],
  touches: readonly DirtyDay[],
  more: Partial<PlanInput> = {},
) {
  return windowsOf(metrics, touches, more).map(({ metric, relay_chain, from, until }) => {
    const relay = relay_chain === 'polkadot' ? '' : `${relay_chain} `;
    return `${metric} ${relay}${from}..${until}`;
  });
}

describe('which days of a metric a touched day changes', () => {
  const daily = metricOf('Daily', [blocks]);

  it('only itself, where nothing else is said', () => {
    expect(planned([daily], [touch('2026-03-04')])).toEqual(['daily 2026-03-04..2026-03-05']);
  });

  it('none, where the metric does not read what was touched', () => {
    expect(planned([daily], [touch('2026-03-04', 'polkadot', 'prices')])).toEqual([]);
    expect(planned([daily], [touch('2026-03-04', 'polkadot', 'snapshots')])).toEqual([]);
  });

  it('none, where it reads a pallet that no new block of the day holds', () => {
    const broker = pickyMetricOf('Broker', ofPallets('broker'));
    const of = (pallet: string) => planned([broker], [{ ...touch('2026-03-04'), pallet }]);
    expect(of('')).toEqual([]);
    expect(of('staking')).toEqual([]);
    expect(of('broker')).toEqual(['broker 2026-03-04..2026-03-05']);
    expect(of(ANY_PALLET)).toEqual(['broker 2026-03-04..2026-03-05']);
  });

  it('all touched ones, where it reads blocks beside that pallet', () => {
    const both = pickyMetricOf(
      'Both',
      sql`${ofPallets('broker')} AND number IN (SELECT number FROM ${blocks})`,
    );
    for (const pallet of ['', 'broker', ANY_PALLET])
      expect(planned([both], [{ ...touch('2026-03-04'), pallet }])).toEqual(['both 2026-03-04..2026-03-05']);
    expect(planned([both], [{ ...touch('2026-03-04'), pallet: 'staking' }])).toEqual([]);
  });

  it('those behind it that it reaches, up to the last day with data', () => {
    const reaching = metricOf('Reaching', [blocks], { lookbackDays: 3 });
    expect(planned([reaching], [touch('2026-03-04')])).toEqual(['reaching 2026-03-04..2026-03-07']);
    expect(planned([reaching], [touch('2026-03-30')])).toEqual(['reaching 2026-03-30..2026-04-01']);
  });

  it('the empty days beside it and the next day with blocks of the same chain, where neighbours count', () => {
    const neighbourly = metricOf('Neighbourly', [blocks], { invalidationScope: 'neighbours' });
    expect(planned([neighbourly], [touch('2026-03-04')])).toEqual(['neighbourly 2026-03-04..2026-03-06']);
    expect(planned([neighbourly], [touch('2026-03-10')])).toEqual(['neighbourly 2026-03-10..2026-04-01']);
    expect(planned([neighbourly], [touch('2026-03-31')])).toEqual(['neighbourly 2026-03-11..2026-04-01']);
    // A day that the store did not know before lies between its neighbours, too.
    expect(planned([neighbourly], [touch('2026-03-20')])).toEqual(['neighbourly 2026-03-11..2026-04-01']);
    const days = new Map([
      ['polkadot/polkadot', MARCH],
      ['polkadot/moonbeam', ['2026-03-02', '2026-03-09']],
    ]);
    expect(planned([neighbourly], [touch('2026-03-02', 'moonbeam')], { days })).toEqual([
      'neighbourly 2026-03-02..2026-03-10',
    ]);
  });

  it('all from it on, where a fold goes on for ever', () => {
    const onward = metricOf('Onward', [blocks], { invalidationScope: 'onward' });
    expect(planned([onward], [touch('2026-03-04')])).toEqual(['onward 2026-03-04..2026-04-01']);
  });

  it('whole months, where the row of a month is named by its last day', () => {
    const monthly = metricOf('Monthly', [blocks], { materialized: 'monthly' });
    expect(planned([monthly], [touch('2026-03-04')])).toEqual(['monthly 2026-03-01..2026-04-01']);
  });

  it('everything, where entities live for years', () => {
    const whole = metricOf('Whole', [blocks], { materialized: 'whole' });
    expect(planned([whole], [touch('2026-03-04'), touch('2026-03-31')])).toEqual([
      `whole ${EVERYTHING.from}..${EVERYTHING.until}`,
    ]);
    expect(planned([whole], [touch('2026-03-04', 'polkadot', 'prices')])).toEqual([]);
  });
});

describe('which relay chains a touch concerns', () => {
  const priced = metricOf('Priced', [blocks, prices]);
  const days = new Map([
    ['polkadot/polkadot', MARCH],
    ['kusama/kusama', MARCH],
  ]);

  it('its own', () => {
    expect(planned([priced], [touch('2026-03-04', 'kusama', 'blocks', 'kusama')], { days })).toEqual([
      'priced kusama 2026-03-04..2026-03-05',
    ]);
  });

  it('all, when it is a price: a token may be priced under any chain', () => {
    expect(planned([priced], [touch('2026-03-04', 'polkadot', 'prices')], { days })).toEqual([
      'priced 2026-03-04..2026-03-05',
      'priced kusama 2026-03-04..2026-03-05',
    ]);
  });

  it('none without data, and none for a price beyond the last day with data', () => {
    expect(planned([priced], [touch('2026-03-04', 'polkadot', 'prices')])).toEqual([
      'priced 2026-03-04..2026-03-05',
    ]);
    expect(planned([priced], [touch('2026-04-01', 'polkadot', 'prices')])).toEqual([]);
    expect(planned([priced], [touch('2026-03-04', 'polkadot', 'prices')], { days: new Map() })).toEqual([]);
  });

  it('that of a first block', () => {
    expect(planned([priced], [touch('2026-05-01')], { days: new Map() })).toEqual([
      'priced 2026-05-01..2026-05-02',
    ]);
  });
});

describe('metrics that read metrics', () => {
  const ground = metricOf('Ground', [blocks]);
  const rolling = metricOf('Rolling', [ground.table, prices], { lookbackDays: 3 });
  const top = metricOf('Top', [rolling.table], { materialized: 'monthly' });

  it('are computed after what they read, over all that it changed', () => {
    const windows = windowsOf([top, rolling, ground], [touch('2026-03-04')]);
    expect(windows).toEqual([
      { metric: 'ground', relay_chain: 'polkadot', from: '2026-03-04', until: '2026-03-05', level: 0 },
      { metric: 'rolling', relay_chain: 'polkadot', from: '2026-03-04', until: '2026-03-07', level: 1 },
      { metric: 'top', relay_chain: 'polkadot', from: '2026-03-01', until: '2026-04-01', level: 2 },
    ]);
  });

  it('are computed alone when only they read what was touched', () => {
    expect(planned([ground, rolling], [touch('2026-03-04', 'polkadot', 'prices')])).toEqual([
      'rolling 2026-03-04..2026-03-07',
    ]);
  });

  it('go on to the last day when they fold what they read', () => {
    const folding = metricOf('Folding', [ground.table], { invalidationScope: 'onward' });
    expect(planned([ground, folding], [touch('2026-03-04')])).toEqual([
      'ground 2026-03-04..2026-03-05',
      'folding 2026-03-04..2026-04-01',
    ]);
  });

  it('must not read each other in a circle', () => {
    const [one, other] = [{ name: 'one' }, { name: 'other' }];
    expect(() => byLevel([metricOf('One', [other]), metricOf('Other', [one])])).toThrow(
      /circle: one → other → one/,
    );
  });

  it('may read what they said before', () => {
    expect(byLevel([metricOf('Itself', [blocks, { name: 'itself' }])]).map(({ level }) => level)).toEqual([
      0,
    ]);
  });
});

describe('how much is computed at once', () => {
  const daily = metricOf('Daily', [blocks]);
  const everyDay = MARCH.map((day) => touch(day));

  it('neighbouring days, and days with nothing between them', () => {
    expect(planned([daily], [touch('2026-03-05'), touch('2026-03-04')])).toEqual([
      'daily 2026-03-04..2026-03-06',
    ]);
    expect(planned([daily], [touch('2026-03-10'), touch('2026-03-31')])).toEqual([
      'daily 2026-03-10..2026-04-01',
    ]);
    expect(planned([daily], [touch('2026-03-02'), touch('2026-03-04')])).toEqual([
      'daily 2026-03-02..2026-03-03',
      'daily 2026-03-04..2026-03-05',
    ]);
  });

  it('so many days with data; empty ones are not counted', () => {
    expect(planned([daily], everyDay, { daysMax: 5 })).toEqual([
      'daily 2026-03-01..2026-03-06',
      'daily 2026-03-06..2026-03-31',
      'daily 2026-03-31..2026-04-01',
    ]);
  });

  it('fewer where the metric says so', () => {
    const heavy = metricOf('Heavy', [blocks], { daysMax: 10 });
    expect(planned([heavy], everyDay)).toEqual([
      'heavy 2026-03-01..2026-03-31',
      'heavy 2026-03-31..2026-04-01',
    ]);
  });

  it('months whole, however many days they have', () => {
    const monthly = metricOf('Monthly', [blocks], { materialized: 'monthly' });
    expect(planned([monthly], everyDay, { daysMax: 2 })).toEqual(['monthly 2026-03-01..2026-04-01']);
  });

  it('the same, whatever the order and the number of touches', () => {
    const touches = [touch('2026-03-09'), touch('2026-03-02'), touch('2026-03-01'), touch('2026-03-05')];
    const once = planned([daily], touches);
    expect(planned([daily], [...touches, ...touches.toReversed()])).toEqual(once);
  });
});
