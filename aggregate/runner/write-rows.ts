import type { Store } from '../../infra/ports.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import { ofRelays, relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { computedColumns, DIGEST, type EntityId, type MaterializedMetric } from '../metric.ts';
import { foldedColumns } from './fold-lines.ts';
import { foldInPieces } from './folding.ts';

/**
 * How the rows of a window are replaced, whatever computes them: they are compared with the stored ones, and what is
 * written is the changed rows, and a tombstone for each row that is gone. Twice changes nothing, and what has changed has
 * a higher version. After an interruption the next computation finds what was written, and writes the rest.
 */

/** A window may reach over more months than the engine takes at once by itself. */
const ANY_MONTHS = 'max_partitions_per_insert_block = 0';
/** All reads of a statement see the same parts: rows must not count of one table what another one lacks. */
const ROW_SETTINGS = `precise_float_parsing = 1, enable_shared_storage_snapshot_in_query = 1, ${ANY_MONTHS}`;

/** Rows of a fold are a version above the tombstones of its window, of which one may have the key of a new row. */
export const VERSIONS = 2;

/** What is replaced: the rows of a window, or those of some entities of it. */
interface Replaced {
  readonly metric: MaterializedMetric;
  readonly window: Window;
  readonly entities?: readonly EntityId[];
}

interface Writing {
  /** The first of `VERSIONS` numbers that were taken before the window is read: a higher one never has older facts. */
  readonly version: bigint;
  /** Set where rows of a computation that did not end may yet arrive under a lower version, which must not win. */
  readonly writesEqualRows: boolean;
}

/** Resolves when the rows that the metric has of the window now are those that are stored. */
export async function writeRows(store: Store, replaced: Replaced, writing: Writing): Promise<void> {
  await (replaced.metric.fold ? writeFolded : writeSelected)(store, replaced, writing);
}

async function writeSelected(
  store: Store,
  { metric, window, entities }: Replaced,
  { version, writesEqualRows }: Writing,
): Promise<void> {
  const { key, table } = metric;
  const where = storedRows({ metric, window, ...(entities && { entities }) });
  const selected = metric.select(window, entities);
  if (!(await hasRows(store, metric, where))) {
    const columns = join(computedColumns(metric).map(ident));
    await store.run(sql`INSERT INTO ${table} (${columns}, version, is_deleted)
      SELECT ${columns}, ${version} AS version, 0 AS is_deleted FROM (${selected}) SETTINGS ${raw(ROW_SETTINGS)}`);
    return;
  }
  const names = computedColumns(metric);
  const others = names.filter((name) => !key.includes(name));
  const typed = join(
    names.map((name) => sql`CAST(${ident(name)}, ${table.columns[name] as string}) AS ${ident(name)}`),
  );
  const keys = join(key.map(ident));
  // A tuple, since null would not be a value that a row has. Its first element is the 0.
  const values = sql`tuple(0${join([sql``, ...others.map(ident)])}) AS others`;
  const kept = others.map((name, i) => sql`(argMax(others, is_new) AS kept).${i + 2} AS ${ident(name)}`);
  // Only new, only stored, or different.
  const differing = raw(writesEqualRows ? '' : 'HAVING count() = 1 OR uniqExact(others) = 2');
  await store.run(sql`INSERT INTO ${table} (${join([...key, ...others].map(ident))}, version, is_deleted)
    SELECT ${join([keys, ...kept])}, ${version} AS version, 1 - max(is_new) AS is_deleted
    FROM (
      SELECT ${keys}, ${values}, 1 AS is_new FROM (SELECT ${typed} FROM (${selected}))
      UNION ALL
      SELECT ${keys}, ${values}, 0 AS is_new FROM ${table} FINAL WHERE ${where}
    ) GROUP BY ${keys} ${differing} SETTINGS ${raw(ROW_SETTINGS)}`);
}

async function writeFolded(
  store: Store,
  { metric, window, entities }: Replaced,
  { version, writesEqualRows }: Writing,
): Promise<void> {
  const where = storedRows({ metric, window, ...(entities && { entities }) });
  const columns = join([...metric.key.map(ident), sql`toString(${ident(DIGEST)}) AS ${ident(DIGEST)}`]);
  const stored = await store.bytes(
    sql`SELECT ${columns} FROM ${metric.table} FINAL WHERE ${where}`,
    'NDJSON',
  );
  const facts = await store.bytes(metric.select(window, entities), 'NDJSON');
  const input = { relay: relayOf(window), version: version.toString(), facts, stored, writesEqualRows };
  for await (const lines of foldInPieces(metric, input))
    await store.insertLines(metric.table, foldedColumns(metric), lines);
}

/** Whether any row or tombstone is stored: most windows of a backfill are the first of their time. */
async function hasRows(store: Store, metric: MaterializedMetric, where: Sql): Promise<boolean> {
  const rows = await store.rows(sql`SELECT 1 FROM ${metric.table} WHERE ${where} LIMIT 1`);
  return rows.length > 0;
}

/** The condition of the rows that the window makes. */
function storedRows({ metric, window, entities }: Replaced): Sql {
  const ofEntities =
    entities && metric.entities ? sql` AND ${ident(metric.entities.column)} IN ${entities}` : sql``;
  return sql`${ofRelays(window)} AND ${metric.stored(window)}${ofEntities}`;
}
