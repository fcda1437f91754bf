import { sql } from '../../infra/clickhouse/sql.ts';
import { table } from '../../infra/clickhouse/table.ts';
import type { Store } from '../../infra/ports.ts';
import { canonicalBlocks } from '../../ingest/raw/canonical.ts';
import { EVERYTHING } from '../planner/plan.ts';

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

/** Written at the end of a round, so that it is true of the rows whatever is pending. */
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

export const ledgerTables = [computedWindows, watermarks, computedChains];

/** The watermark of a metric whose rows were deleted, and of one without a watermark. */
export const NEVER_COMPUTED = 0n;

export async function readWatermarks(store: Pick<Store, 'rows'>): Promise<Map<string, bigint>> {
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

/** Resets the watermark of a metric whose rows were deleted: the next round computes its whole history. */
export async function resetWatermark(store: Store, metric: string): Promise<void> {
  await store.run(sql`ALTER TABLE ${watermarks} DELETE WHERE metric = ${metric} SETTINGS mutations_sync = 1`);
  await store.insert(watermarks, [{ metric, sequence: NEVER_COMPUTED.toString() }]);
}

export interface ComputedChain {
  readonly relay_chain: string;
  readonly chain: string;
  readonly as_of: string;
}

/** The newest stored block of each chain of these relay chains, among those from `day` on. */
export async function readNewestBlocks(
  store: Store,
  relays: Iterable<string>,
  day: string,
): Promise<readonly ComputedChain[]> {
  const sorted = [...relays].sort();
  if (sorted.length === 0) return [];
  return store.rows<ComputedChain>(
    sql`SELECT relay_chain, chain, max(assumeNotNull(time)) AS as_of
      FROM ${canonicalBlocks({ ...EVERYTHING, relays: sorted, from: day })} GROUP BY relay_chain, chain`,
  );
}
