import type { Store } from '../ports.ts';
import { liveColumns } from './live-columns.ts';
import { fingerprint, meta, readMeta, SCHEMA_VERSION, type Schema } from './schema.ts';
import { sql } from './sql.ts';
import { createTable, createView } from './table.ts';

/** The rows of `meta` that tell which schema a store has. */
const WANTED = 'schema';
const APPLIED = 'schema_applied';
const TUNED = 'schema_tuning';
const wantedOnce = (identity: string) => `schema ${identity}`;

/** A schema, as the versions of a rolling upgrade tell theirs apart. */
export interface SchemaIdentity {
  /** Of all definitions, and of what else makes rows differ. */
  readonly identity: string;
  /** Of settings of tables, which may change while the definitions stay. */
  readonly tuning: string;
}

/**
 * How the schema of a store compares with that of this process:
 * - `current`: they are the same;
 * - `untuned`: the tables are the same, their settings are not;
 * - `due`: the store has none or an earlier one, or a migration to this one was interrupted;
 * - `replaced`: the store had this schema once. A newer version has migrated it, or an older one has brought back its own.
 */
export type SchemaState = 'current' | 'untuned' | 'due' | 'replaced';

export function identityOf(schema: Schema, tuning: readonly string[], more: object): SchemaIdentity {
  const tables = [...schema.tables, ...schema.derived].map((one) => `${createTable(one)}${one.recipe ?? ''}`);
  const texts = [...tables, ...schema.views.map(createView), JSON.stringify(more), String(SCHEMA_VERSION)];
  return { identity: fingerprint(texts.join('\n')), tuning: fingerprint(tuning.join('\n')) };
}

export async function readSchemaState(
  store: Store,
  schema: Schema,
  { identity, tuning }: SchemaIdentity,
): Promise<SchemaState> {
  const live = new Set((await liveColumns(store)).keys());
  if (!live.has(meta.name)) return 'due';
  const known = await readMeta(store);
  const wanted = known.get(WANTED);
  if (wanted !== identity) return known.has(wantedOnce(identity)) ? 'replaced' : 'due';
  const names = [...schema.tables, ...schema.derived, ...schema.views].map(({ name }) => name);
  if (known.get(APPLIED) !== identity || names.some((name) => !live.has(name))) return 'due';
  return known.get(TUNED) === tuning ? 'current' : 'untuned';
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
export async function readFormerSchemas(store: Store): Promise<string[]> {
  const known = await readMeta(store);
  const prefix = wantedOnce('');
  return [...known.keys()].filter((name) => name.startsWith(prefix)).map((name) => name.slice(prefix.length));
}

/** Tells every process that the store is being migrated. */
export async function announceSchema(store: Store, { identity }: SchemaIdentity): Promise<void> {
  await store.run(createTable(meta));
  await store.insert(meta, [
    { name: wantedOnce(identity), value: '' },
    { name: WANTED, value: identity },
  ]);
}

export const recordSchema = (store: Store, { identity, tuning }: SchemaIdentity): Promise<void> =>
  store.insert(meta, [
    { name: APPLIED, value: identity },
    { name: TUNED, value: tuning },
  ]);

/** Whether a store has every table and column of a schema, whatever else it has. */
export async function hasSchema(store: Store, schema: Schema): Promise<boolean> {
  const live = await liveColumns(store);
  return [...schema.tables, ...schema.derived].every(({ name, columns }) =>
    Object.keys(columns).every((column) => live.get(name)?.has(column)),
  );
}
