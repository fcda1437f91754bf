import { join, sql } from '../../infra/clickhouse/sql.ts';
import { type Table, table } from '../../infra/clickhouse/table.ts';
import type { Store } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import { type FailedMetric, failedMetrics } from './failures.ts';
import { type ComputeLane, type Marks, NOT_COMPUTED } from './lanes.ts';

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

/** A round of one lane writes here while days of the other lane wait, else to `watermarks`. */
export const laneWatermarks = table({
  name: 'lane_watermarks',
  doc: 'Per metric and lane, the load up to which nothing of the lane waits, and the first day of the live lane then.',
  columns: {
    metric: 'LowCardinality(String)',
    lane: 'LowCardinality(String)',
    live_from: 'Date',
    sequence: 'UInt64',
  },
  engine: 'ReplacingMergeTree(sequence)',
  orderBy: ['metric', 'lane'],
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

/** Per metric, up to which load it is computed and where it fails. */
interface Ledger {
  /** Metrics that were never computed are not in it. */
  readonly marks: ReadonlyMap<string, Marks>;
  readonly failures: readonly FailedMetric[];
}

interface MarkRow {
  readonly metric: string;
  readonly lane: ComputeLane | '';
  readonly live_from: string;
  readonly newest: string;
}

const MARKS = sql`SELECT metric, '' AS lane, '' AS live_from, toString(max(mark.sequence)) AS newest
    FROM ${watermarks} AS mark GROUP BY metric
  UNION ALL
  SELECT metric, lane, toString(argMax(live_from, mark.sequence)), toString(max(mark.sequence))
    FROM ${laneWatermarks} AS mark GROUP BY metric, lane`;
const NO_FAILURE = sql`CAST([], 'Array(String)') AS relay_chains, '' AS from_day, '' AS until_day, '' AS reason,
  toDateTime64(0, 3, 'UTC') AS failed_since, toDateTime64(0, 3, 'UTC') AS tried_at, 0 AS attempts, NULL AS next_attempt_at`;

/** Reads all of it with one statement. */
export async function readLedger(store: Pick<Store, 'rows'>): Promise<Ledger> {
  const rows = await store.rows<FailedMetric & MarkRow>(
    sql`SELECT metric, lane, live_from, newest, ${NO_FAILURE} FROM (${MARKS})
      UNION ALL
      SELECT metric, lane, '', '', relay_chains, from_day, until_day, reason, failed_since, tried_at, attempts,
        next_attempt_at
      FROM ${failedMetrics} FINAL`,
  );
  return {
    marks: marksIn(rows.filter(({ newest }) => newest !== '')),
    failures: rows
      .filter(({ newest }) => newest === '')
      .map(({ live_from: _day, newest: _newest, ...failure }) => failure),
  };
}

/** Reads up to which load each metric is computed. */
export const readMarks = async (store: Pick<Store, 'rows'>): Promise<Map<string, Marks>> =>
  marksIn(await store.rows<MarkRow>(MARKS));

function marksIn(rows: readonly MarkRow[]): Map<string, Marks> {
  const marks = new Map<string, Marks>();
  for (const { metric, lane, live_from: day, newest } of rows) {
    const known = marks.get(metric) ?? NOT_COMPUTED;
    const sequence = BigInt(newest);
    marks.set(
      metric,
      lane === ''
        ? { ...known, all: sequence }
        : { ...known, lanes: { ...known.lanes, [lane]: { sequence, day } } },
    );
  }
  return marks;
}

export const ledgerTables = [
  computedWindows,
  watermarks,
  laneWatermarks,
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
  const numbered = [dirtyDays, watermarks, laneWatermarks, emptiedMetrics];
  const newest = numbered.map((one) => sql`(SELECT max(one.sequence) FROM ${one} AS one)`);
  const [row] = await store.rows<{ newest: string }>(
    sql`SELECT toString(greatest((SELECT max(version) FROM ${computedWindows}), ${join(newest)})) AS newest`,
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
  for (const table of [laneWatermarks, failedMetrics, watermarks]) {
    const [row] = await store.rows<{ n: number }>(
      sql`SELECT count() AS n FROM ${table} WHERE metric = ${metric}`,
    );
    if (row?.n) await deleteRows(store, table, metric);
  }
}

const deleteRows = (store: Store, table: Table, metric: string) =>
  store.run(sql`ALTER TABLE ${table} DELETE WHERE metric = ${metric} SETTINGS mutations_sync = 1`);
