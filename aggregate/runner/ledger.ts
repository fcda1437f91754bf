import type { Store } from '../../infra/ports.ts';
import { join, sql } from '../../infra/sql.ts';
import { type Table, table } from '../../infra/table.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import { type FailedMetric, failedMetrics, readFailedMetrics } from './failures.ts';
import type { Watermarks } from './watermarks.ts';

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

export const watermarks = table({
  name: 'watermarks',
  doc: 'Per metric, the number up to which every load is computed.',
  columns: { metric: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric'],
});

/** Written after the rows of the metrics, so the rows hold these blocks even while newer loads are pending. */
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

/** A copy of `computedChains` from before the failure, for each failed metric and the metrics that read it. */
export const laggingChains = table({
  name: 'lagging_chains',
  doc: 'Per metric that has failed and chain, the newest block of its rows.',
  columns: { metric: 'LowCardinality(String)', ...computedChains.columns },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'relay_chain', 'chain'],
});

/** Reports emptied metrics as changes, including slices that have no rows after the recomputation. */
export const emptiedMetrics = table({
  name: 'emptied_metrics',
  doc: 'Per metric and relay chain, the version at which all rows were deleted because the definition changed.',
  columns: { metric: 'LowCardinality(String)', relay_chain: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'relay_chain'],
});

/** The watermarks and failures, from which a round derives what to compute. */
interface Ledger {
  readonly marks: Watermarks;
  readonly failures: readonly FailedMetric[];
}

export const readLedger = async (store: Pick<Store, 'rows'>): Promise<Ledger> => {
  const [marks, failures] = await Promise.all([readWatermarks(store), readFailedMetrics(store)]);
  return { marks, failures };
};

/** Reads the number up to which each metric is computed. */
export async function readWatermarks(store: Pick<Store, 'rows'>): Promise<Watermarks> {
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

/** The newest version of each metric, for ETags. */
export async function readVersions(store: Store): Promise<Map<string, string>> {
  const rows = await store.rows<{ metric: string; version: string }>(
    sql`SELECT metric, toString(max(entry.version)) AS version FROM ${computedWindows} AS entry GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, row.version]));
}

/** The highest stored number of any load or computation. */
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
 * Resets the watermark of a metric whose rows were deleted, so that the next round computes its whole history. Clears
 * its failure, and marks all its slices as changed.
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

/** Deletes the watermark and the failure of a metric. */
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
