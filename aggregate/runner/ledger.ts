import { sql } from '../../infra/clickhouse/sql.ts';
import { table } from '../../infra/clickhouse/table.ts';
import type { Store } from '../../infra/ports.ts';

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
  renamedFrom: 'settled',
  doc: 'Per metric, the load up to which nothing waits to be computed.',
  columns: { metric: 'LowCardinality(String)', sequence: 'UInt64' },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric'],
});

export const ledgerTables = [computedWindows, watermarks];

export async function readWatermarks(store: Store): Promise<Map<string, bigint>> {
  const rows = await store.rows<{ metric: string; sequence: string }>(
    sql`SELECT metric, toString(max(mark.sequence)) AS sequence FROM ${watermarks} AS mark GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, BigInt(row.sequence)]));
}

/** The newest version of every metric's table, from which its ETag is made. */
export async function readVersions(store: Store): Promise<Map<string, string>> {
  const rows = await store.rows<{ metric: string; version: string }>(
    sql`SELECT metric, toString(max(entry.version)) AS version FROM ${computedWindows} AS entry GROUP BY metric`,
  );
  return new Map(rows.map((row) => [row.metric, row.version]));
}

/** Deletes a metric's watermark: the next round computes its whole history. */
export async function resetWatermark(store: Store, metric: string): Promise<void> {
  await store.run(sql`ALTER TABLE ${watermarks} DELETE WHERE metric = ${metric} SETTINGS mutations_sync = 1`);
}
