import { sql } from './clickhouse/sql.ts';
import type { Runtime } from './ports.ts';

/** Throws when a service that the ports need does not answer. */
export async function checkReadiness({ store, keyValue, log }: Runtime): Promise<void> {
  await Promise.all([store.rows(sql`SELECT 1`), keyValue.get('ready'), log.lag()]);
}
