import { createHash } from 'node:crypto';
import { ProductError } from '../errors.ts';
import type { Store } from '../ports.ts';
import { liveColumns } from './live-columns.ts';
import { createWithRows } from './replaced-table.ts';
import { DATABASE, type NamedTable, type Sql, sql } from './sql.ts';
import {
  createTable,
  createView,
  createViewWithColumns,
  dropTable,
  type Table,
  table,
  type View,
} from './table.ts';

/** Version of the stored data, raised when older data must be migrated. A store of a newer version is not opened. */
export const SCHEMA_VERSION = 3;

export const meta = table({
  name: 'meta',
  doc: 'Facts about the store itself.',
  columns: { name: 'String', value: 'String', at: "DateTime64(3, 'UTC') DEFAULT now64(3)" },
  engine: 'ReplacingMergeTree(at)',
  orderBy: ['name'],
});

export interface Schema {
  readonly tables: readonly Table[];
  readonly views: readonly View[];
  /** Tables whose rows can be computed again: they are dropped and created when their definition changes. */
  readonly derived: readonly Table[];
  /** Of a derived table, the condition of the rows that cannot be computed again; null where all can. */
  readonly irreplaceable?: (store: Store, table: Table) => Promise<Sql | null>;
  /** Called when a derived table was dropped, so that its rows are computed again. */
  readonly forget?: (store: Store, table: Table) => Promise<void>;
}

interface SchemaOptions {
  /** Settings of every table. */
  readonly tableSettings?: readonly string[];
  /** Whether the tables are on a cluster, where this server cannot tell what a new replica lacks. */
  readonly isCluster?: boolean;
}

/**
 * Migrates the store to the declared schema. It is idempotent. What is there already is not
 * created again, except on a cluster, where this server cannot tell what a new replica lacks.
 */
export async function applySchema(
  store: Store,
  schema: Schema,
  { tableSettings = [], isCluster = false }: SchemaOptions = {},
): Promise<void> {
  await store.run(createTable(meta, tableSettings));
  const known = await readMeta(store);
  const stored = Number(known.get('schema_version') ?? SCHEMA_VERSION);
  if (stored > SCHEMA_VERSION) {
    throw new ProductError(
      'store_newer',
      `the data directory was written by a newer version (schema ${stored}, this one knows ${SCHEMA_VERSION}); start that version`,
    );
  }
  const facts = definitions(schema);
  const changed = ({ name }: NamedTable, kind: 'table' | 'view') => {
    const before = known.get(`${kind} ${name}`);
    return before !== undefined && before !== facts.get(`${kind} ${name}`);
  };
  for (const view of schema.views) if (changed(view, 'view')) await drop(store, view);
  await dropFormerViews(store, schema, known);
  for (const table of schema.tables) if (changed(table, 'table')) await drop(store, table);
  for (const table of schema.derived.filter((one) => changed(one, 'table'))) {
    const rows = (await schema.irreplaceable?.(store, table)) ?? null;
    await (rows === null ? drop(store, table) : createWithRows(store, table, rows, tableSettings));
  }
  const live = await liveColumns(store);
  const create = async (statements: readonly string[]) => {
    // A cluster runs one after the other anyway. Elsewhere they wait more for the disk than they compute.
    if (isCluster) for (const statement of statements) await store.run(statement);
    else await Promise.all(statements.map((statement) => store.run(statement)));
  };
  const isMissing = ({ name }: NamedTable) => isCluster || !live.has(name);
  const everyTable = [...schema.tables, ...schema.derived];
  const missing = everyTable.filter(isMissing);
  await create(missing.map((table) => createTable(table, tableSettings)));
  await addColumns(store, schema.tables, live);
  for (const table of schema.derived) if (changed(table, 'table')) await schema.forget?.(store, table);
  await create(schema.views.filter(isMissing).map(createViewWithColumns));
  const news = [...facts].filter(([name, value]) => known.get(name) !== value);
  await store.insert(
    meta,
    news.map(([name, value]) => ({ name, value })),
  );
}

/** Drops the views of other versions: they would go on filling the tables beside the present ones. */
async function dropFormerViews(
  store: Store,
  { views }: Schema,
  known: ReadonlyMap<string, string>,
): Promise<void> {
  const present = new Set(views.map(({ name }) => `view ${name}`));
  const former = [...known.keys()].filter((fact) => fact.startsWith('view ') && !present.has(fact));
  if (former.length === 0) return;
  const live = await liveColumns(store);
  for (const name of former.map((fact) => fact.slice('view '.length)))
    if (live.has(name)) await drop(store, { name });
}

/** Adds the columns that a table lacked; its older rows get the default value of the type. */
async function addColumns(
  store: Store,
  tables: readonly Table[],
  live: ReadonlyMap<string, ReadonlySet<string>>,
): Promise<void> {
  for (const { name, columns } of tables) {
    const before = live.get(name);
    if (before === undefined) continue;
    for (const [column, type] of Object.entries(columns)) {
      if (before.has(column)) continue;
      await store.run(`ALTER TABLE ${DATABASE}.${name} ADD COLUMN IF NOT EXISTS ${column} ${type}`);
    }
  }
}

/**
 * Fingerprints of the definitions that can be dropped and created again: derived tables, landing tables and views. A
 * view is created again with the tables that it reads and writes.
 */
function definitions(schema: Schema): Map<string, string> {
  const landingTables = schema.tables.filter((table) => table.engine === 'Null');
  const tables = new Map(
    [...landingTables, ...schema.derived].map((table) => [
      table.name,
      `${createTable(table)}${table.recipe ?? ''}`,
    ]),
  );
  return new Map([
    ['schema_version', String(SCHEMA_VERSION)],
    ...[...tables].map(([name, text]): [string, string] => [`table ${name}`, fingerprint(text)]),
    ...schema.views.map((view): [string, string] => [
      `view ${view.name}`,
      fingerprint(`${createView(view)}${tables.get(view.from.name) ?? ''}${tables.get(view.to.name) ?? ''}`),
    ]),
  ]);
}

const drop = (store: Store, table: NamedTable) => store.run(dropTable(table));

/** How a store compares with the schema of this process. */
interface SchemaComparison {
  /** `none`: there are no tables yet; `due`: a migration has something to do. */
  readonly state: 'none' | 'newer' | 'due' | 'current';
  readonly version: number;
  /** Tables and views that a migration creates, again or for the first time, or gives columns. */
  readonly changes: readonly string[];
}

/** Compares and changes nothing. */
export async function compareSchema(store: Pick<Store, 'rows'>, schema: Schema): Promise<SchemaComparison> {
  const live = await liveColumns(store);
  if (!live.has(meta.name)) return { state: 'none', version: 0, changes: [] };
  const known = await readMeta(store);
  const version = Number(known.get('schema_version') ?? SCHEMA_VERSION);
  if (version > SCHEMA_VERSION) return { state: 'newer', version, changes: [] };
  const differing = [...definitions(schema)]
    .filter(([fact, value]) => known.get(fact) !== value)
    .map(([fact]) => fact.split(' ').at(-1) ?? fact);
  const lacking = [...schema.tables, ...schema.derived]
    .filter(({ name, columns }) => Object.keys(columns).some((column) => !live.get(name)?.has(column)))
    .map(({ name }) => name);
  const changes = [...new Set([...differing, ...lacking])];
  return { state: changes.length === 0 ? 'current' : 'due', version, changes };
}

export async function readMeta(store: Pick<Store, 'rows'>): Promise<Map<string, string>> {
  const rows = await store.rows<{ name: string; value: string }>(sql`SELECT name, value FROM ${meta} FINAL`);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

export const fingerprint = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
