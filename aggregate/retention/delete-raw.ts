import type { Store } from '../../infra/ports.ts';
import { DATABASE, join, raw, type Sql, sql } from '../../infra/sql.ts';
import { createTable, dropTable, type Table } from '../../infra/table.ts';
import { DELETABLE } from '../../ingest/raw/retention.ts';
import { calls, events, extrinsics } from '../../ingest/raw/tables.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { blockDays } from '../metrics/index.ts';
import { palletsIn } from '../planner/plan.ts';

/** The partition of blocks without a timestamp. */
const WITHOUT_TIME = '197001';
const HOURS_OF_VIEWS = 24;

/** A monthly partition of a raw table. */
interface Month {
  readonly table: Table;
  readonly id: string;
}

/**
 * Deletes the raw rows that no metric reads any more, in the months before a day, and returns their number. If metrics
 * read the whole history of a pallet, the rows of the pallet stay, with all rows of their extrinsics. The last day of
 * each chain stays too, because views read it. The remaining rows replace a month in one step, so a repetition after a
 * kill has the same result.
 */
export async function deleteRawRows(
  store: Store,
  metrics: readonly MaterializedMetric[],
  { from, before }: { readonly from: string; readonly before: string },
  ensure: () => Promise<void>,
): Promise<number> {
  const pallets = [...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric))))].sort();
  let deleted = 0;
  for (const month of await monthsBetween(store, from, before)) {
    await ensure();
    deleted += await rewriteMonth(store, month, await keptIn(store, month, pallets), ensure);
  }
  return deleted;
}

async function monthsBetween(store: Store, from: string, before: string): Promise<Month[]> {
  const [first, end] = [from, before].map((day) => day.slice(0, 7).replace('-', '')) as [string, string];
  const rows = await store.rows<{ name: string; id: string }>(
    sql`SELECT DISTINCT table AS name, partition_id AS id FROM system.parts
      WHERE database = ${DATABASE} AND active AND table IN ${DELETABLE.map(({ name }) => name)}
        AND length(id) = 6 AND id != ${WITHOUT_TIME} AND id >= ${first} AND id < ${end} ORDER BY id, name`,
  );
  return rows.map(({ name, id }) => ({ id, table: DELETABLE.find((one) => one.name === name) as Table }));
}

/** The condition of the rows that stay. */
async function keptIn(store: Store, { table, id }: Month, pallets: readonly string[]): Promise<Sql> {
  const ofPallets = sql`_partition_id = ${id} AND pallet IN ${pallets}`;
  const places = sql`SELECT relay_chain, chain, number, extrinsic_index FROM ${extrinsics} WHERE ${ofPallets}
    UNION DISTINCT SELECT relay_chain, chain, number, extrinsic_index FROM ${calls} WHERE ${ofPallets}
    UNION DISTINCT SELECT relay_chain, chain, number, assumeNotNull(extrinsic_index) FROM ${events}
      WHERE ${ofPallets} AND isNotNull(extrinsic_index)`;
  const index = table === events ? sql`assumeNotNull(extrinsic_index)` : sql`extrinsic_index`;
  const isThere = table === events ? sql`isNotNull(extrinsic_index) AND` : sql``;
  return join(
    [
      sql`pallet IN ${pallets}`,
      sql`(${isThere} (relay_chain, chain, number, ${index}) IN (${places}))`,
      ...(table === extrinsics ? await lastDaysIn(store, id) : []),
    ],
    ' OR ',
  );
}

/** Keeps the last day of chains whose newest block is in this month or before. */
async function lastDaysIn(store: Store, id: string): Promise<Sql[]> {
  const rows = await store.rows<{ relay_chain: string; chain: string; since: string }>(
    sql`SELECT relay_chain, chain, toString(max(last_time) - INTERVAL ${HOURS_OF_VIEWS} HOUR) AS since
      FROM ${blockDays} FINAL GROUP BY relay_chain, chain HAVING toYYYYMM(toDateTime64(since, 3, 'UTC')) <= ${Number(id)}`,
  );
  return rows.map(
    ({ relay_chain, chain, since }) =>
      sql`(relay_chain = ${relay_chain} AND chain = ${chain} AND time > toDateTime64(${since}, 3, 'UTC'))`,
  );
}

async function rewriteMonth(
  store: Store,
  { table, id }: Month,
  kept: Sql,
  ensure: () => Promise<void>,
): Promise<number> {
  const piece: Table = { ...table, name: `${table.name}_kept` };
  const count = async (target: Table) => {
    const [row] = await store.rows<{ rows: number }>(
      sql`SELECT count() AS rows FROM ${target} WHERE _partition_id = ${id}`,
    );
    return row?.rows ?? 0;
  };
  await store.run(dropTable(piece));
  await store.run(createTable(piece));
  // Columns by name, because a migration may have added one in another place. FINAL, because an engine that was killed
  // while it replaced the month may hold the kept rows twice.
  const columns = join(Object.keys(table.columns).map((column) => raw(column)));
  await store.run(
    sql`INSERT INTO ${piece} (${columns}) SELECT ${columns} FROM ${table} FINAL WHERE _partition_id = ${id} AND (${kept})`,
  );
  const [before, after] = [await count(table), await count(piece)];
  // If another process took over, it writes the kept rows again. An incomplete set must not replace the month.
  await ensure();
  await store.run(
    after > 0
      ? sql`ALTER TABLE ${table} REPLACE PARTITION ID ${id} FROM ${piece}`
      : sql`ALTER TABLE ${table} DROP PARTITION ID ${id}`,
  );
  await store.run(dropTable(piece));
  return before - after;
}
