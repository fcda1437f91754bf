import type { Store } from '../../infra/ports.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import { ofRelays, relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { computedColumns, DIGEST, type EntityId, type MaterializedMetric } from '../metric.ts';
import { foldedColumns } from './fold-lines.ts';
import { foldInPieces } from './folding.ts';

// Replaces the rows of a window: compares them with the stored ones, and writes changed rows and a tombstone for each row
// that no longer exists. A repetition changes nothing, changed rows have a higher version, and after an interruption the
// next computation writes the rest.

/** A window may have more monthly partitions than the engine accepts by default. */
const ANY_MONTHS = 'max_partitions_per_insert_block = 0';
/** All reads of a statement see the same parts, so that tables are consistent with each other. */
const ROW_SETTINGS = `precise_float_parsing = 1, enable_shared_storage_snapshot_in_query = 1, ${ANY_MONTHS}`;

/** Rows of a fold have a version above the tombstones of its window, because a tombstone can have the key of a new row. */
export const VERSIONS_PER_WINDOW = 2;

/** The rows of a window, or of some of its entities. */
interface Replaced {
  readonly metric: MaterializedMetric;
  readonly window: Window;
  readonly entities?: readonly EntityId[];
}

interface Writing {
  /** The first of `VERSIONS_PER_WINDOW` numbers. Taken before the window is read: a higher version has no older facts. */
  readonly version: bigint;
  /** Set if rows of an unfinished computation may still arrive under a lower version; they must not win. */
  readonly writesEqualRows: boolean;
}

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
  // A tuple, because aggregate functions skip null. Its first element is the constant 0, so columns start at 2.
  const values = sql`tuple(0${join([sql``, ...others.map(ident)])}) AS others`;
  const kept = others.map((name, i) => sql`(argMax(others, is_new) AS kept).${i + 2} AS ${ident(name)}`);
  // Only new, only stored, or with different values.
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

/** True if any row or tombstone is stored. Most windows of a backfill are empty, which allows a cheaper statement. */
async function hasRows(store: Store, metric: MaterializedMetric, where: Sql): Promise<boolean> {
  const rows = await store.rows(sql`SELECT 1 FROM ${metric.table} WHERE ${where} LIMIT 1`);
  return rows.length > 0;
}

/** Selects the stored rows of the window. */
function storedRows({ metric, window, entities }: Replaced): Sql {
  const ofEntities =
    entities && metric.entities ? sql` AND ${ident(metric.entities.column)} IN ${entities}` : sql``;
  return sql`${ofRelays(window)} AND ${metric.storedRows(window)}${ofEntities}`;
}
