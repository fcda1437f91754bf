import { day, name } from '../../../aggregate/columns.ts';
import { type MaterializedMetric, metric } from '../../../aggregate/metric.ts';
import type { DirtyDay } from '../../../aggregate/planner/dirty-groups.ts';
import { type PlanInput, plan } from '../../../aggregate/planner/plan.ts';
import { dayNumber } from '../../../aggregate/planner/ranges.ts';
import { join, type NamedTable, type Sql, sql } from '../../../infra/sql.ts';
import { canonicalEvents } from '../../../ingest/raw/canonical.ts';
export const blocks: NamedTable = { name: 'blocks' };
export const prices: NamedTable = { name: 'prices' };

export type Traits = Partial<
  Pick<MaterializedMetric, 'materialized' | 'invalidationScope' | 'lookbackDays' | 'fold'>
>;

export function metricOf(
  record: string,
  reads: readonly NamedTable[],
  traits: Traits = {},
): MaterializedMetric {
  return metric({
    record,
    title: 'Metrics for the planner',
    domain: 'activity',
    doc: 'a metric for the planner',
    columns: { date: day('day'), relay_chain: name('relay chain'), chain: name('chain') },
    key: ['date', 'relay_chain', 'chain'],
    materialized: 'daily',
    select: () => sql`SELECT 1 FROM ${join(reads.map((table) => sql`${table}`))}`,
    endpoints: [],
    ...traits,
  });
}

/** A metric of events under a condition. */
export const pickyMetricOf = (record: string, where: Sql): MaterializedMetric => ({
  ...metricOf(record, []),
  select: (window) => canonicalEvents(window, where),
});

export const dirty = (
  day: string,
  chain = 'polkadot',
  stream = 'blocks',
  relay_chain = 'polkadot',
): DirtyDay => ({
  stream,
  pallet: '',
  relay_chain,
  chain,
  day,
});

/** Blocks from the 1st to the 10th of March and on its last day. */
export const MARCH = [
  ...Array.from({ length: 10 }, (_, index) => `2026-03-${String(index + 1).padStart(2, '0')}`),
  '2026-03-31',
];

/** What else a plan is made of, with days as texts. */
type MoreInput = Partial<Omit<PlanInput, 'days'> & { readonly days: ReadonlyMap<string, readonly string[]> }>;

export function windowsOf(
  metrics: readonly MaterializedMetric[],
  days: readonly DirtyDay[],
  { days: withBlocks = new Map([['polkadot/polkadot', MARCH]]), ...more }: MoreInput = {},
) {
  return plan({
    dirtyDays: days,
    metrics,
    streams: { blocks: [blocks.name], prices: [prices.name] },
    days: new Map([...withBlocks].map(([chain, own]) => [chain, own.map(dayNumber)])),
    snapshotDays: new Map(),
    relays: ['polkadot', 'kusama'],
    daysMax: 100,
    validDaysMax: 0,
    ...more,
  });
}

/** A plan as text: metric, relay chains unless it is polkadot alone, first day and the day after the last. */
export function planned(
  metrics: readonly MaterializedMetric[],
  days: readonly DirtyDay[],
  more: MoreInput = {},
) {
  return windowsOf(metrics, days, more).map(({ metric, relays, from, until }) => {
    const relay = relays.join('+') === 'polkadot' ? '' : `${relays.join('+')} `;
    return `${metric} ${relay}${from}..${until}`;
  });
}
