import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { blocks, deadLetters, dirtyDays } from './tables.ts';

/** Whether nothing was ingested into the store yet. */
export async function isEmpty(store: Store): Promise<boolean> {
  const [row] = await store.rows<{ any: number }>(
    sql`SELECT toUInt8(count() > 0) AS any FROM (
      SELECT 1 FROM ${dirtyDays} LIMIT 1 UNION ALL SELECT 1 FROM ${blocks} LIMIT 1
      UNION ALL SELECT 1 FROM ${deadLetters} LIMIT 1)`,
  );
  return row?.any !== 1;
}
