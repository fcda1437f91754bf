import type { Store } from '../ports.ts';
import { DATABASE, join, raw, type Sql, sql } from '../sql.ts';
import { createTable, dropTable, type Table } from '../table.ts';
import { liveColumns } from './live-columns.ts';

/**
 * Recreates a table with its current definition and copies the rows that cannot be computed again. During the
 * copy the old table has the suffix `_replaced`, so that the next start continues after a kill.
 */
export async function recreateTable(
  store: Store,
  table: Table,
  rows: Sql,
  tableSettings: readonly string[],
): Promise<void> {
  const replaced: Table = { ...table, name: `${table.name}_replaced` };
  const live = await liveColumns(store);
  const isBegun = live.has(replaced.name);
  if (!isBegun && !live.has(table.name)) return;
  if (isBegun) await store.run(dropTable(table));
  else await store.run(`RENAME TABLE ${DATABASE}.${table.name} TO ${DATABASE}.${replaced.name}`);
  await store.run(createTable(table, tableSettings));
  const stored = (await liveColumns(store)).get(replaced.name);
  const columns = join(
    Object.keys(table.columns)
      .filter((column) => stored?.has(column))
      .map((column) => raw(column)),
  );
  await store.run(sql`INSERT INTO ${table} (${columns}) SELECT ${columns} FROM ${replaced} WHERE ${rows}`);
  await store.run(dropTable(replaced));
}
