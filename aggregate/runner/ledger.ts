import type { Store } from '../../infra/ports.ts';
import { join, sql } from '../../infra/sql.ts';
import { type Table, table } from '../../infra/table.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import { type FailedMetric, failedMetrics, readFailedMetrics } from './failures.ts';
import type { Marks } from './marks.ts';

/** Every window that was computed: when, under which version, and how long it took. */
export const computedWindows = table({
  name: 'windows',
  doc: 'Ledger of computed windows.',
  columns: {
    metric: 'LowCardinality(String)',
    relay_chain: 'LowCardinality(String)',
    from_day: 'Date',
    until_day: 'Date',
    version: 'UInt64',
    computed_at: "DateTime64(3, 'UTC')",
    milliseconds: 'UInt32',
  },
  engine: 'ReplacingMergeTree(version)',
  orderBy: ['metric', 'relay_chain', 'from_day', 'until_day'],
});

/** A row of `computedWindows`. */
export type LedgerEntry = Readonly<Record<keyof typeof computedWindows.columns, string | number>>;

/** Per metric, the number up to which every load has been computed. */
export const watermarks = table({
  name: 'watermarks',
  doc: 'Per metric, the load up to which nothing waits to be computed.',
  columns: { metric: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric'],
});

/** Written when rows were computed, so that it is true of them whatever is pending. */
export const computedChains = table({
  name: 'computed_chains',
  doc: 'Per chain, the newest block of the loads up to which every metric was computed.',
  columns: {
    relay_chain: 'LowCardinality(String)',
    chain: 'LowCardinality(String)',
    as_of: "DateTime64(3, 'UTC')",
    sequence: 'UInt64',
  },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['relay_chain', 'chain'],
});

/** A copy of `computedChains` for each metric that failed since, and for those that read it. */
export const laggingChains = table({
  name: 'lagging_chains',
  doc: 'Per metric that has failed and chain, the newest block of its rows.',
  columns: { metric: 'LowCardinality(String)', ...computedChains.columns },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'relay_chain', 'chain'],
});

/** What is told of the rows of a metric that were deleted to be computed again: slices that have none then are among them. */
export const emptiedMetrics = table({
  name: 'emptied_metrics',
  doc: 'Per metric and relay chain, the version at which all rows were deleted, to be computed by another definition.',
  columns: { metric: 'LowCardinality(String)', relay_chain: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'relay_chain'],
});

/** Up to which load each metric is computed, and which fail. */
interface Ledger {
  readonly marks: Marks;
  readonly failures: readonly FailedMetric[];
}

export const readLedger = async (store: Pick<Store, 'rows'>): Promise<Ledger> => {
  const [marks, failures] = await Promise.all([readMarks(store), readFailedMetrics(store)]);
  return { marks, failures };
};

/** Reads up to which load each metric is computed. */
export async function readMarks(store: Pick<Store, 'rows'>): Promise<Marks> {
  const rows = await store.rows<{ metric: string; newest: string }>(
    sql`SELECT metric, toString(max(mark.sequence)) AS newest FROM ${watermarks} AS mark GROUP BY metric`,
  );
  return new Map(rows.map(({ metric, newest }) => [metric, BigInt(newest)]));
}

export const ledgerTables = [
  computedWindows,
  watermarks,
  computedChains,
  laggingChains,
  failedMetrics,
  emptiedMetrics,
];

/** The newest version of every metric's table, from which its ETag is made. */
export async function readVersions(store: Store): Promise<Map<string, string>> {
  const rows = await store.rows<{ metric: string; version: string }>(
    sql`SELECT metric, toString(max(entry.version)) AS version FROM ${computedWindows} AS entry GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, row.version]));
}

/** The highest number of loads and computations that is stored. */
export async function readNewestNumber(store: Pick<Store, 'rows'>): Promise<bigint> {
  const numbered = [dirtyDays, watermarks, emptiedMetrics];
  const newest = numbered.map((one) => sql`(SELECT max(one.sequence) FROM ${one} AS one)`);
  const [row] = await store.rows<{ newest: string }>(
    sql`SELECT toString(greatest((SELECT max(version) FROM ${computedWindows}),
      (SELECT max(version) FROM ${failedMetrics}), ${join(newest)})) AS newest`,
  );
  return BigInt(row?.newest ?? 0);
}

/**
 * Resets the watermark of a metric whose rows were deleted: the next round computes its whole history, also where it
 * had failed. All of its slices have changed.
 */
export async function resetWatermark(store: Store, metric: string): Promise<void> {
  await deleteWatermark(store, metric);
  const sequence = String((await readNewestNumber(store)) + 1n);
  await store.insert(
    emptiedMetrics,
    RELAY_CHAINS.map((relay_chain) => ({ metric, relay_chain, sequence })),
  );
  await store.insert(watermarks, [{ metric, sequence: 0 }]);
}

/** Deletes what is known of the computation of a metric. */
async function deleteWatermark(store: Store, metric: string): Promise<void> {
  for (const table of [failedMetrics, watermarks]) {
    const [row] = await store.rows<{ n: number }>(
      sql`SELECT count() AS n FROM ${table} WHERE metric = ${metric}`,
    );
    if (row?.n) await deleteRows(store, table, metric);
  }
}

const deleteRows = (store: Store, table: Table, metric: string) =>
  store.run(sql`ALTER TABLE ${table} DELETE WHERE metric = ${metric} SETTINGS mutations_sync = 1`);
