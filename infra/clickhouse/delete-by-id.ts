import type { Store } from '../ports.ts';
import { chunkForIn, type NamedTable, sql } from '../sql.ts';

/**
 * Deletes rows by id, and returns when they are gone. Lists the ids, since replicated tables refuse a mutation with a
 * subquery.
 */
export async function deleteByIds(
  store: Pick<Store, 'run'>,
  table: NamedTable,
  rows: readonly { readonly id: string }[],
): Promise<void> {
  for (const ids of chunkForIn(rows.map(({ id }) => id)))
    await store.run(sql`ALTER TABLE ${table} DELETE WHERE id IN ${ids} SETTINGS mutations_sync = 1`);
}
