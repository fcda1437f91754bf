import type { Store } from '../ports.ts';
import { chunkForIn, type NamedTable, sql } from '../sql.ts';

/**
 * Deletes any number of rows by their ids, and returns when they are gone. A condition with a query in it would do with
 * one statement, but replicas take no such deletion.
 */
export async function deleteByIds(
  store: Pick<Store, 'run'>,
  table: NamedTable,
  rows: readonly { readonly id: string }[],
): Promise<void> {
  for (const ids of chunkForIn(rows.map(({ id }) => id)))
    await store.run(sql`ALTER TABLE ${table} DELETE WHERE id IN ${ids} SETTINGS mutations_sync = 1`);
}
