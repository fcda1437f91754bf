import type { Store } from '../../infra/ports.ts';
import { ident, type Sql, sql } from '../../infra/sql.ts';
import { readRetention } from '../../ingest/raw/retention.ts';
import { dependencies } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { readsAllRows } from '../planner/plan.ts';

/** Selects the rows of a metric whose raw rows may be deleted; null if there are none. */
export async function frozenRows(store: Store, table: string): Promise<Sql | null> {
  const metric = materializedMetrics.find(({ name }) => name === table);
  if (!metric?.period || !readsAllRows(dependencies(metric))) return null;
  const { frozen } = await readRetention(store);
  return frozen.at === 0 ? null : sql`${ident(metric.period)} < ${frozen.before}`;
}
