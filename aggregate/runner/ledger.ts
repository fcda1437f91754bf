import { sql } from '../../infra/clickhouse/sql.ts';
import { table } from '../../infra/clickhouse/table.ts';
import type { Store } from '../../infra/ports.ts';

/** Every window that was computed: when, up to which load, and how long it took. Gaps and staleness show here. */
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

/** A row of the ledger. */
export type LedgerEntry = Readonly<Record<keyof typeof computedWindows.columns, string | number>>;

/** Up to which load everything that was touched has been computed, per metric. */
export const watermarks = table({
  name: 'watermarks',
  renamedFrom: 'settled',
  doc: 'Per metric, the load up to which nothing waits to be computed.',
  columns: { metric: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric'],
});

export const ledgerTables = [computedWindows, watermarks];

export async function readWatermarks(store: Store): Promise<Map<string, bigint>> {
  const rows = await store.rows<{ metric: string; sequence: string }>(
    sql`SELECT metric, toString(max(watermarks.sequence)) AS sequence FROM ${watermarks} GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, BigInt(row.sequence)]));
}

/** The newest version of every metric's table: what an ETag is made of. */
export async function readVersions(store: Store): Promise<Map<string, string>> {
  const rows = await store.rows<{ metric: string; version: string }>(
    sql`SELECT metric, toString(max(windows.version)) AS version FROM ${computedWindows} GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, row.version]));
}

/** Makes a metric as if it were new to the store: the next round computes its whole history. */
export async function resetWatermark(store: Store, metric: string): Promise<void> {
  await store.run(sql`ALTER TABLE ${watermarks} DELETE WHERE metric = ${metric} SETTINGS mutations_sync = 1`);
}
