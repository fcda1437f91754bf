import type { Store } from '../ports.ts';
import { DATABASE, sql } from '../sql.ts';

/** The columns of every stored table and view. */
export async function liveColumns(
  store: Pick<Store, 'rows'>,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const live = await store.rows<{ table: string; columns: readonly string[] }>(
    sql`SELECT table, groupArray(name) AS columns FROM system.columns WHERE database = ${DATABASE} GROUP BY table`,
  );
  return new Map(live.map(({ table, columns }) => [table, new Set(columns)]));
}
