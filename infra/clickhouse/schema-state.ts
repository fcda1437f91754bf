import type { Store } from '../ports.ts';
import { sql } from '../sql.ts';
import { createTable, createView } from '../table.ts';
import { liveColumns } from './live-columns.ts';
import { SCHEMA_VERSION } from './migrations.ts';
import { compareSchema, fingerprint, meta, newerStoreError, readMeta, type Schema } from './schema.ts';

/** Rows of `meta` that record the schema of a store. */
const WANTED = 'schema';
const APPLIED = 'schema_applied';
/** Key of a schema that the store has, had or was being migrated to. */
const announcedKey = (identity: string) => `schema ${identity}`;

/**
 * How the schema of a store compares with that of this process:
 * - `current`: they are the same;
 * - `due`: the store never had the schema of this process, or the migration to it was interrupted;
 * - `replaced`: the store had this schema once, and another version has migrated it since.
 */
export type SchemaState = 'current' | 'due' | 'replaced';

/** A fingerprint of all definitions and of `more`, which contains everything else that changes rows. */
export function identityOf(schema: Schema, more: object): string {
  const tables = [...schema.tables, ...schema.derived].map((one) => `${createTable(one)}${one.recipe ?? ''}`);
  const texts = [...tables, ...schema.views.map(createView), JSON.stringify(more), String(SCHEMA_VERSION)];
  return fingerprint(texts.join('\n'));
}

/** Throws `store_newer` for a store of a newer version. */
export async function readSchemaState(store: Store, schema: Schema, identity: string): Promise<SchemaState> {
  const { state, version } = await compareSchema(store, schema);
  if (state === 'none') return 'due';
  if (state === 'newer') throw newerStoreError(version);
  const known = await readMeta(store);
  if (known.get(WANTED) !== identity) return known.has(announcedKey(identity)) ? 'replaced' : 'due';
  return state === 'current' && known.get(APPLIED) === identity ? 'current' : 'due';
}

/** The identity of the schema that a store has or is being migrated to. */
export async function readWantedSchema(store: Store): Promise<string | undefined> {
  const [row] = await store.rows<{ value: string }>(
    sql`SELECT value FROM ${meta} FINAL WHERE name = ${WANTED}`,
    { lane: 'probes' },
  );
  return row?.value;
}

/** Identities of all schemas that a store has had. */
export async function readAnnouncedSchemas(store: Store): Promise<string[]> {
  const known = await readMeta(store);
  const prefix = announcedKey('');
  return [...known.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

/** Announces a migration to all processes. */
export async function announceSchema(
  store: Store,
  identity: string,
  tableSettings: readonly string[],
): Promise<void> {
  await store.run(createTable(meta, tableSettings));
  await store.insert(meta, [
    { name: announcedKey(identity), value: '' },
    { name: WANTED, value: identity },
  ]);
}

export const recordSchema = (store: Store, identity: string): Promise<void> =>
  store.insert(meta, [{ name: APPLIED, value: identity }]);

/** Whether a store has every table and column of a schema, whatever else it has. */
export async function hasSchema(store: Store, schema: Schema): Promise<boolean> {
  const live = await liveColumns(store);
  return [...schema.tables, ...schema.derived].every(({ name, columns }) =>
    Object.keys(columns).every((column) => live.get(name)?.has(column)),
  );
}
