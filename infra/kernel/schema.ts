import { createHash } from 'node:crypto';
import { ProductError } from '../errors.ts';
import type { Store } from '../runtime.ts';
import { DATABASE, sql } from './sql.ts';
import { createTable, createView, type Table, table, type View } from './table.ts';

/** Raised when stored data of an older shape must be moved; a newer number than this refuses to start. */
export const SCHEMA_VERSION = 1;

const meta = table({
  name: 'meta',
  doc: 'Facts about the store itself.',
  columns: { name: 'String', value: 'String', at: "DateTime64(3, 'UTC') DEFAULT now64(3)" },
  engine: 'ReplacingMergeTree(at)',
  orderBy: ['name'],
});

export interface Schema {
  readonly tables: readonly Table[];
  readonly views: readonly View[];
  /** Tables that hold nothing but what can be computed again: made anew when their definition changes. */
  readonly derived: readonly Table[];
}

/** Brings the store to the declared schema; safe to run at every start. */
export async function applySchema(
  store: Store,
  schema: Schema,
  tableSettings: readonly string[],
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
  const facts: Record<string, string> = { schema_version: String(SCHEMA_VERSION) };
  for (const table of schema.derived) {
    const definition = fingerprint(createTable(table));
    const before = known.get(`table ${table.name}`);
    if (before !== undefined && before !== definition) {
      await store.run(`DROP TABLE IF EXISTS ${DATABASE}.${table.name} SYNC`);
    }
    facts[`table ${table.name}`] = definition;
  }
  for (const table of [...schema.tables, ...schema.derived])
    await store.run(createTable(table, tableSettings));
  for (const view of schema.views) {
    const definition = fingerprint(createView(view));
    const before = known.get(`view ${view.name}`);
    if (before !== definition) {
      if (before !== undefined) await store.run(`DROP TABLE IF EXISTS ${DATABASE}.${view.name} SYNC`);
      await store.run(createView(view));
    }
    facts[`view ${view.name}`] = definition;
  }
  const changed = Object.entries(facts).filter(([name, value]) => known.get(name) !== value);
  await store.insert(
    meta,
    changed.map(([name, value]) => ({ name, value })),
  );
}

/** Where the live schema differs from the declared one, in words; empty when it does not. */
export async function schemaDrift(store: Store, schema: Schema): Promise<string[]> {
  const live = await store.rows<{ table: string; name: string; type: string }>(
    sql`SELECT table, name, type FROM system.columns WHERE database = ${DATABASE} ORDER BY table, position`,
  );
  const spell = (columns: [string, string][]) => columns.map((column) => column.join(' ')).join(', ');
  return [...schema.tables, ...schema.derived].flatMap((table) => {
    const declared = spell(Object.entries(table.columns).map(([name, type]) => [name, bareType(type)]));
    const found = spell(live.filter((column) => column.table === table.name).map((c) => [c.name, c.type]));
    return squeeze(declared) === squeeze(found) ? [] : [`${table.name}: declared ${declared}; live ${found}`];
  });
}

async function readMeta(store: Store): Promise<Map<string, string>> {
  const rows = await store.rows<{ name: string; value: string }>(sql`SELECT name, value FROM ${meta} FINAL`);
  return new Map(rows.map(({ name, value }) => [name, value]));
}

const fingerprint = (text: string) => createHash('sha256').update(text).digest('hex').slice(0, 16);
const bareType = (type: string) => type.replace(/ (CODEC|DEFAULT).*$/, '');
const squeeze = (text: string) => text.replaceAll(/[\s`]+/g, '');
