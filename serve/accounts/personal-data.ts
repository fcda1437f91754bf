import type { Store } from '../../infra/ports.ts';
import { ident, join, type Sql, sql } from '../../infra/sql.ts';
import type { Table } from '../../infra/table.ts';
import type { User } from './tables.ts';

/**
 * Held while an account is checked and marked as deleted, and during each change that could remove the last owner of
 * something. So no blocker arises between the check and the mark.
 */
export const DELETION_LOCK = 'account-deletions';

/** A reason why an account cannot be deleted yet. */
export interface DeletionBlocker {
  readonly text: string;
  /** The page on which the user can resolve it, and the text of the link to it. */
  readonly path: string;
  readonly link: string;
}

/** The personal data that a domain outside of accounts stores. The composition root lists these domains. */
export interface PersonalData {
  /** Empty if the account can be deleted. */
  deletionBlockers(user: User): Promise<readonly DeletionBlocker[]>;
  /** Memberships and on-call roles that end with the account, by kind. The confirmation page lists them. */
  rolesOf(user: User): Promise<Readonly<Record<string, readonly string[]>>>;
  /** Everything stored about the user by kind, without secrets and hashes. */
  export(user: User): Promise<Readonly<Record<string, unknown>>>;
  /** Removes data that belongs only to the user. Runs after the account is deleted, and again after a kill. */
  remove(user: User): Promise<void>;
}

/** Rows about a user. */
export interface PersonalRows {
  readonly table: Table;
  readonly where: Sql;
  /** Columns of the export. Those that end in `_ms` become times: `created_ms` is exported as `created_at`. */
  readonly columns: readonly string[];
}

/** More rows than a person creates by hand. The export marks a kind that reaches this limit by `KIND_limit`. */
const ROWS_MAX = 100_000;

/** Reads the rows of each kind, sorted by their columns. */
export async function exportRows(
  store: Pick<Store, 'rows'>,
  kinds: Readonly<Record<string, PersonalRows>>,
): Promise<Record<string, unknown>> {
  const found: Record<string, unknown> = {};
  for (const [kind, rows] of Object.entries(kinds)) {
    const exported = await readRows(store, rows);
    found[kind] = exported;
    if (exported.length === ROWS_MAX) found[`${kind}_limit`] = ROWS_MAX;
  }
  return found;
}

/** FINAL for tables that replace rows. In other tables a kill can only repeat equal rows, which DISTINCT drops. */
async function readRows(
  store: Pick<Store, 'rows'>,
  { table, where, columns }: PersonalRows,
): Promise<Record<string, unknown>[]> {
  const final = /MergeTree\(/.test(table.engine) ? sql`FINAL` : sql``;
  const rows = await store.rows<Record<string, unknown>>(
    sql`SELECT DISTINCT ${join(columns.map(ident))} FROM ${table} ${final} WHERE ${where}
      ORDER BY ${join(columns.map(ident))} LIMIT ${ROWS_MAX}`,
  );
  return rows.map((row) => Object.fromEntries(Object.entries(row).map(exportedField)));
}

function exportedField([name, value]: readonly [string, unknown]): readonly [string, unknown] {
  if (!name.endsWith('_ms')) return [name, value];
  return [name.replace(/_ms$/, '_at'), exportedTime(Number(value))];
}

/** ISO 8601; null for 0, which means never. */
export const exportedTime = (ms: number): string | null => (ms === 0 ? null : new Date(ms).toISOString());
