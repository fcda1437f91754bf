import { createHash } from 'node:crypto';
import { ProductError } from '../errors.ts';
import type { Store } from '../ports.ts';
import { type NamedTable, type Sql, sql } from '../sql.ts';
import {
  createTable,
  createView,
  createViewWithColumns,
  dropTable,
  type Table,
  table,
  type View,
} from '../table.ts';
import { liveColumns } from './live-columns.ts';
import { MIGRATIONS, type Migration, SCHEMA_VERSION } from './migrations.ts';
import { recreateTable } from './recreate-table.ts';

export const meta = table({
  name: 'meta',
  doc: 'Key and value pairs about the store itself, such as the version of its schema.',
  columns: { name: 'String', value: 'String', at: "DateTime64(3, 'UTC') DEFAULT now64(3)" },
  engine: 'ReplacingMergeTree(at)',
  orderBy: ['name'],
});

export interface Schema {
  /** Landing tables and tables of state. A changed table of state needs a migration. */
  readonly tables: readonly Table[];
  readonly views: readonly View[];
  /** Tables whose rows can be computed again. They are dropped and recreated if their definition changes. */
  readonly derived: readonly Table[];
  /** A condition that selects the rows of a derived table that cannot be computed again; null if there are none. */
  readonly irreplaceable?: (store: Store, table: Table) => Promise<Sql | null>;
  /** Called after a derived table was dropped; schedules the computation of its rows. */
  readonly forget?: (store: Store, table: Table) => Promise<void>;
}

interface SchemaOptions {
  /** Settings of every table. */
  readonly tableSettings?: readonly string[];
  /** Whether the tables are on a cluster. If so, all tables are created, since a new replica may lack some. */
  readonly isCluster?: boolean;
  readonly migrations?: readonly Migration[];
}

const VERSION = 'schema_version';

/**
 * Migrates the store to the declared schema. Idempotent. On a cluster it runs CREATE for all tables, since a new replica may
 * lack some; otherwise only for missing ones.
 */
export async function applySchema(
  store: Store,
  schema: Schema,
  { tableSettings = [], isCluster = false, migrations = MIGRATIONS }: SchemaOptions = {},
): Promise<void> {
  await store.run(createTable(meta, tableSettings));
  const known = await readMeta(store);
  await migrate(store, known, migrations);
  const facts = definitions(schema, migrations.length + 1);
  await dropUndeclared(store, known, facts);
  const isChanged = (fact: string) => known.has(fact) && known.get(fact) !== facts.get(fact);
  for (const view of schema.views) if (isChanged(`view ${view.name}`)) await drop(store, view);
  const landing = schema.tables.filter(isLanding);
  for (const table of landing) if (isChanged(`table ${table.name}`)) await drop(store, table);
  const changed = schema.derived.filter(({ name }) => isChanged(`table ${name}`));
  for (const table of changed) {
    const rows = (await schema.irreplaceable?.(store, table)) ?? null;
    await (rows === null ? drop(store, table) : recreateTable(store, table, rows, tableSettings));
  }
  const live = await liveColumns(store);
  const create = async (statements: readonly string[]) => {
    // A cluster runs DDL one by one. A single server mostly waits for the disk, so its DDL runs concurrently.
    if (isCluster) for (const statement of statements) await store.run(statement);
    else await Promise.all(statements.map((statement) => store.run(statement)));
  };
  const isMissing = ({ name }: NamedTable) => isCluster || !live.has(name);
  const missing = [...schema.tables, ...schema.derived].filter(isMissing);
  await create(missing.map((table) => createTable(table, tableSettings)));
  for (const table of changed) await schema.forget?.(store, table);
  await create(schema.views.filter(isMissing).map(createViewWithColumns));
  await record(
    store,
    [...facts].filter(([name, value]) => known.get(name) !== value),
  );
}

/** Runs the migrations that the store lacks. An empty store needs none: its tables are created as declared. */
async function migrate(
  store: Store,
  known: ReadonlyMap<string, string>,
  migrations: readonly Migration[],
): Promise<void> {
  // Records each migration before the next one starts, so that after a kill at most one runs again.
  for (let version = versionOf(known, migrations); version <= migrations.length; version++) {
    await migrations[version - 1]?.(store);
    await record(store, [[VERSION, String(version + 1)]]);
  }
}

/** The version of a store; throws `store_newer` when this program does not know it. */
function versionOf(known: ReadonlyMap<string, string>, migrations: readonly Migration[]): number {
  const present = migrations.length + 1;
  const stored = Number(known.get(VERSION) ?? present);
  if (stored > present) throw newerStoreError(stored, present);
  return stored;
}

export const newerStoreError = (stored: number, present = SCHEMA_VERSION) =>
  new ProductError(
    'store_newer',
    `the store was written by a newer version (schema ${stored}, this one knows ${present}); start that version`,
  );

/** Drops views and derived tables that are no longer declared, since an old view would still fill its table. */
async function dropUndeclared(
  store: Store,
  known: ReadonlyMap<string, string>,
  facts: ReadonlyMap<string, string>,
): Promise<void> {
  const isDropped = ([fact, value]: readonly [string, string]) =>
    value !== DROPPED && !facts.has(fact) && /^(view|table) /.test(fact);
  const undeclared = [...known].filter(isDropped).map(([fact]) => fact);
  // Views first, since a view that reads a dropped table would fail each insert.
  for (const fact of undeclared.sort().reverse())
    await drop(store, { name: fact.slice(fact.indexOf(' ') + 1) });
  await record(
    store,
    undeclared.map((fact): [string, string] => [fact, DROPPED]),
  );
}

const DROPPED = '';

const isLanding = (table: Table) => table.engine === 'Null';

/**
 * The version, and fingerprints of the definitions that can be dropped and created again: derived tables, landing
 * tables and views. A view is created again with the tables that it reads and writes.
 */
function definitions(schema: Schema, version: number): Map<string, string> {
  const tables = new Map(
    [...schema.tables.filter(isLanding), ...schema.derived].map((table) => [
      table.name,
      `${createTable(table)}${table.recipe ?? ''}`,
    ]),
  );
  return new Map([
    [VERSION, String(version)],
    ...[...tables].map(([name, text]): [string, string] => [`table ${name}`, fingerprint(text)]),
    ...schema.views.map((view): [string, string] => [
      `view ${view.name}`,
      fingerprint(`${createView(view)}${tables.get(view.from.name) ?? ''}${tables.get(view.to.name) ?? ''}`),
    ]),
  ]);
}

const record = (store: Store, facts: readonly (readonly [string, string])[]) =>
  store.insert(
    meta,
    facts.map(([name, value]) => ({ name, value })),
  );

const drop = (store: Store, table: NamedTable) => store.run(dropTable(table));

/** How a store compares with the schema of this process. */
interface SchemaComparison {
  /** `none`: there are no tables yet; `newer`: a newer version wrote the store; `due`: a migration is needed. */
  readonly state: 'none' | 'newer' | 'due' | 'current';
  readonly version: number;
  /** Tables and views that a migration would create or recreate. */
  readonly changes: readonly string[];
}

/** Compares the schema without changing anything. */
export async function compareSchema(store: Pick<Store, 'rows'>, schema: Schema): Promise<SchemaComparison> {
  const live = await liveColumns(store);
  if (!live.has(meta.name)) return { state: 'none', version: 0, changes: [] };
  const known = await readMeta(store);
  const version = Number(known.get(VERSION) ?? SCHEMA_VERSION);
  if (version > SCHEMA_VERSION) return { state: 'newer', version, changes: [] };
  const differing = [...definitions(schema, SCHEMA_VERSION)]
    .filter(([fact, value]) => known.get(fact) !== value)
    .map(([fact]) => fact.slice(fact.indexOf(' ') + 1));
  const lacking = [...schema.tables, ...schema.derived]
    .filter(({ name }) => !live.has(name))
    .map(({ name }) => name);
  const changes = [...new Set([...differing, ...lacking])];
  return { state: changes.length === 0 ? 'current' : 'due', version, changes };
}

export async function readMeta(store: Pick<Store, 'rows'>): Promise<Map<string, string>> {
  const rows = await store.rows<{ name: string; value: string }>(sql`SELECT name, value FROM ${meta} FINAL`);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

export const fingerprint = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
