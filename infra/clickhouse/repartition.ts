import type { Store } from '../ports.ts';
import { DATABASE, raw, sql } from './sql.ts';
import { createTable, dropTable, type Table } from './table.ts';

/** A table whose rows earlier versions stored without partitions. */
type Partitioned = Table & { readonly partitionBy: string };

export interface Rewriting {
  readonly tableSettings: readonly string[];
  /** Called before the rewritten table takes the place of the former one. */
  readonly prepare: (table: Table) => Promise<void>;
  /** Drops the views that read or fill a table. */
  readonly dropViewsOf: (table: string) => Promise<void>;
  readonly report: (progress: string) => void;
}

/** How the tables are stored that are declared with partitions or granules of their own. */
export interface Layout {
  readonly unpartitioned: readonly Partitioned[];
  /** Tables with larger granules than declared. */
  readonly coarse: readonly Table[];
  /** Temporary tables of those that are rewritten. */
  readonly leftOver: readonly Table[];
}

export async function readLayout(store: Store, tables: readonly Table[]): Promise<Layout> {
  const partitioned = tables.filter((table): table is Partitioned => table.partitionBy !== undefined);
  const declared = tables.filter((table) => table.partitionBy !== undefined || granularityOf(table) !== '');
  if (declared.length === 0) return { unpartitioned: [], coarse: [], leftOver: [] };
  const names = [...declared, ...declared.flatMap(temporaryTables)].map(({ name }) => name);
  const live = await store.rows<{ name: string; isWhole: number; definition: string }>(
    sql`SELECT name, partition_key = '' AS isWhole, engine_full AS definition FROM system.tables
      WHERE database = ${DATABASE} AND name IN ${names}`,
  );
  const settings = new Map(live.map(({ name, definition }) => [name, definition]));
  const isWhole = new Map(live.map((table) => [table.name, Boolean(table.isWhole)]));
  const isAsDeclared = ({ name, partitionBy }: Table) => isWhole.get(name) === (partitionBy === undefined);
  return {
    unpartitioned: partitioned.filter(({ name }) => isWhole.get(name)),
    coarse: declared.filter(
      (table) => isAsDeclared(table) && !settings.get(table.name)?.includes(granularityOf(table)),
    ),
    leftOver: declared
      .filter(isAsDeclared)
      .flatMap(temporaryTables)
      .filter(({ name }) => isWhole.has(name)),
  };
}

const granularityOf = ({ settings }: Table): string =>
  settings.find((setting) => setting.startsWith('index_granularity ')) ?? '';

/**
 * Rewrites a table into partitions, one after the other; nothing may write to it meanwhile. A partition enters the new
 * table whole or not at all, and the new table takes the place of the former one in one step, so after a kill at any
 * moment the next start goes on. The former table is read until then and needs its space until the end.
 */
export async function repartition(store: Store, table: Partitioned, rewriting: Rewriting): Promise<void> {
  const { tableSettings, prepare, report } = rewriting;
  const [next, piece] = temporaryTables(table);
  for (const one of [next, piece]) await store.run(createTable(one, tableSettings));
  const partitions = await store.rows<{ id: string }>(
    sql`SELECT DISTINCT toString(${raw(table.partitionBy)}) AS id FROM ${table} ORDER BY id`,
  );
  const done = new Set(await partitionsOf(store, next));
  for (const { id } of partitions.filter((one) => !done.has(one.id))) {
    report(`${table.name}: rewriting ${id}, ${done.size + 1} of ${partitions.length} partitions`);
    const columns = raw(Object.keys(table.columns).join(', '));
    await store.run(`TRUNCATE TABLE ${DATABASE}.${piece.name} SYNC`);
    await store.run(
      sql`INSERT INTO ${piece} (${columns}) SELECT ${columns} FROM ${table} WHERE ${raw(table.partitionBy)} = ${Number(id)}`,
    );
    await store.run(sql`ALTER TABLE ${next} REPLACE PARTITION ID ${id} FROM ${piece}`);
    done.add(id);
  }
  await prepare(table);
  await replace(store, table, next, rewriting);
  await store.run(dropTable(piece));
}

/**
 * Gives a table its declared granules: the parts are linked into a new one, which takes the place of the former one in
 * one step. They keep their granules until they are merged; new ones have the declared ones.
 */
export async function refine(store: Store, table: Table, rewriting: Rewriting): Promise<void> {
  const [next] = temporaryTables(table);
  await store.run(createTable(next, rewriting.tableSettings));
  for (const id of await partitionsOf(store, table))
    await store.run(sql`ALTER TABLE ${next} REPLACE PARTITION ID ${id} FROM ${table}`);
  await replace(store, table, next, rewriting);
}

async function partitionsOf(store: Store, { name }: Table): Promise<string[]> {
  const rows = await store.rows<{ id: string }>(
    sql`SELECT DISTINCT partition_id AS id FROM system.parts WHERE database = ${DATABASE} AND table = ${name} AND active`,
  );
  return rows.map(({ id }) => id);
}

async function replace(store: Store, table: Table, next: Table, { dropViewsOf }: Rewriting): Promise<void> {
  await dropViewsOf(table.name);
  await store.run(`EXCHANGE TABLES ${DATABASE}.${table.name} AND ${DATABASE}.${next.name}`);
  await store.run(dropTable(next));
}

/** The table in the making, which is the former one in the end, and one partition of it. */
export const temporaryTables = (table: Table): readonly [Table, Table] => [
  { ...table, name: `${table.name}_rewritten` },
  { ...table, name: `${table.name}_partition` },
];
