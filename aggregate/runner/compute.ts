import { ident, join, raw, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { Store } from '../../infra/ports.ts';
import { daysOf, ofRelays, type Window } from '../../ingest/raw/canonical.ts';
import { computedColumns, DIGEST, type EntityId, type MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { foldedColumns, type StoredRows } from './fold-lines.ts';
import { foldInPieces } from './folding.ts';
import type { LedgerEntry } from './ledger.ts';

/** A window may reach over more months than the engine takes at once by itself. */
const ANY_MONTHS = 'max_partitions_per_insert_block = 0';
/** All reads of a statement see the same parts: rows must not count of one table what another one lacks. */
const ROW_SETTINGS = `precise_float_parsing = 1, enable_shared_storage_snapshot_in_query = 1, ${ANY_MONTHS}`;

/** A window, and whether it may have stored rows that it has no longer. */
export type ComputedWindow = Window &
  Pick<PlannedWindow, 'mayLoseRows'> & {
    /** Set where no other process computes. Elsewhere one that was taken for dead may write late, under a lower version. */
    readonly isAlone?: boolean;
  };

/**
 * Replaces one window of a metric: inserts the new rows under a newer version, then, where rows can have gone, a
 * tombstone for every older row of the window that has no new row. After an interruption the next run ends in the same
 * rows. Reads the facts of a fold unless they are given.
 */
export async function computeWindow(
  store: Store,
  metric: MaterializedMetric,
  window: ComputedWindow,
  version: bigint,
  now: () => number,
  facts?: Buffer,
): Promise<LedgerEntry> {
  const started = now();
  if (metric.fold || metric.keepsRows || !window.mayLoseRows) {
    await insertRows(store, metric, window, version, { facts });
    if (window.mayLoseRows) {
      const inWindow = sql`${ofRelays(window)} AND ${inPeriod(metric, window)}`;
      await deleteOlderRows(store, metric, inWindow, version);
    }
  } else await replaceRows(store, metric, window, version);
  return ledgerEntry(metric, window, version, started, now);
}

/** As `computeWindow`, but writes only rows that differ from the stored ones; all of them when it is forced. */
export async function updateWindow(
  store: Store,
  metric: MaterializedMetric,
  window: Window,
  version: bigint,
  isForced: boolean,
): Promise<void> {
  const key = metric.key.map((name) => (name === DIGEST ? sql`toString(digest) AS digest` : ident(name)));
  const inWindow = isWithin(ident(metric.period as string), window);
  const stored = await store.bytes(
    sql`SELECT ${join(key)} FROM ${metric.table} FINAL WHERE ${ofRelays(window)} AND ${inWindow}`,
    'NDJSON',
  );
  await insertRows(store, metric, window, version, { stored: { rows: stored, areKept: !isForced } });
}

/** Where the ledger says that a window is. */
export const ledgerPlace = (window: Window) => ({
  relay_chain: window.relays.join(' '),
  from_day: daysOf(window).from,
  until_day: daysOf(window).until,
});

export const ledgerEntry = (
  metric: MaterializedMetric,
  window: Window,
  version: bigint,
  started: number,
  now: () => number,
): LedgerEntry => ({
  metric: metric.name,
  ...ledgerPlace(window),
  version: version.toString(),
  computed_at: new Date(now()).toISOString(),
  milliseconds: Math.max(0, now() - started),
});

interface RowsOptions {
  /** Of a fold; read when absent. */
  readonly facts?: Buffer | undefined;
  /** All of the window when absent. */
  readonly entities?: readonly EntityId[];
  readonly stored?: StoredRows;
}

export async function insertRows(
  store: Store,
  metric: MaterializedMetric,
  window: Window,
  version: bigint,
  { facts, entities, stored }: RowsOptions,
): Promise<void> {
  if (metric.fold) {
    const input = facts ?? (await readFacts(store, metric, window, entities));
    for await (const lines of foldInPieces(metric, window, version.toString(), input, stored)) {
      await store.insertLines(metric.table, foldedColumns(metric), lines);
    }
    return;
  }
  const columns = join(computedColumns(metric).map(ident));
  await store.run(sql`INSERT INTO ${metric.table} (${columns}, version, is_deleted)
    SELECT ${columns}, ${version} AS version, 0 AS is_deleted FROM (${metric.select(window, entities)})
    SETTINGS ${raw(ROW_SETTINGS)}`);
}

/**
 * As both together, with one statement: rows that come and go are few. Where nothing has to outdo late rows, those that
 * are equal to the stored ones stay as they are, and are neither merged nor compared as changes again.
 */
async function replaceRows(
  store: Store,
  metric: MaterializedMetric,
  window: ComputedWindow,
  version: bigint,
): Promise<void> {
  const { key, table } = metric;
  const names = computedColumns(metric);
  const others = names.filter((name) => !key.includes(name));
  const typed = join(
    names.map((name) => sql`CAST(${ident(name)}, ${table.columns[name] as string}) AS ${ident(name)}`),
  );
  const keys = join(key.map(ident));
  // A tuple, since null would not be a value that a row has.
  const values = sql`tuple(0${join([sql``, ...others.map(ident)])}) AS others`;
  const kept = others.map((name, i) => sql`(argMax(others, is_new) AS kept).${i + 2} AS ${ident(name)}`);
  const differing = raw(window.isAlone ? 'HAVING count() = 1 OR uniqExact(others) = 2' : '');
  await store.run(sql`INSERT INTO ${table} (${join([...key, ...others].map(ident))}, version, is_deleted)
    SELECT ${join([keys, ...kept])}, ${version} AS version, 1 - max(is_new) AS is_deleted
    FROM (
      SELECT ${keys}, ${values}, 1 AS is_new FROM (SELECT ${typed} FROM (${metric.select(window)}))
      UNION ALL
      SELECT ${keys}, ${values}, 0 AS is_new FROM ${table} FINAL
      WHERE ${ofRelays(window)} AND ${inPeriod(metric, window)} AND version < ${version}
    ) GROUP BY ${keys} ${differing} SETTINGS ${raw(ROW_SETTINGS)}`);
}

/** Writes a tombstone for every row under the condition that is older than a version. */
export async function deleteOlderRows(
  store: Store,
  metric: MaterializedMetric,
  where: Sql,
  version: bigint,
): Promise<void> {
  const key = join(metric.key.map(ident));
  await store.run(sql`INSERT INTO ${metric.table} (${key}, version, is_deleted)
    SELECT ${key}, ${version}, 1 FROM ${metric.table} FINAL
    WHERE ${where} AND version < ${version}
    SETTINGS ${raw(ANY_MONTHS)}`);
}

/** The condition of the rows that a window makes. */
function inPeriod({ period, unitesHours }: MaterializedMetric, window: Window): Sql {
  if (period === null) return sql`1`;
  if (!unitesHours) return isWithin(ident(period), window);
  return sql`${isWithin(ident(period), daysOf(window))} AND ${unitesHours(window)}`;
}

const isWithin = (period: Sql, { from, until }: Window) => sql`${period} >= ${from} AND ${period} < ${until}`;

/** The input of a fold, one JSON document per line. */
export const readFacts = (
  store: Store,
  metric: MaterializedMetric,
  window: Window,
  entities?: readonly EntityId[],
): Promise<Buffer> => store.bytes(metric.select(window, entities), 'NDJSON');

/** Adds the window that failed to the error of the store, which names a generated statement only. */
export function failureOf(
  metric: MaterializedMetric,
  { relays, from, until }: Window,
  error: unknown,
): ProductError {
  const known = error instanceof ProductError ? error : undefined;
  const text = `${metric.name} of ${relays.join(', ')}, ${from} to ${until}: ${reasonOf(error)}`;
  return new ProductError(known?.code ?? 'store_failed', text, known?.detail);
}
