import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { ident, raw, type Sql, sql } from '../../infra/sql.ts';
import type { QueryStore } from '../http/readers.ts';
import type { OrderColumn } from './cursor.ts';
import type { Query } from './parameters.ts';

/**
 * Returns a condition that limits a page to the days that it can contain; null if the query does not need it. With
 * FINAL, ClickHouse stops at LIMIT only if the rows are sorted by the table key; in any other order it reads and sorts
 * all matching rows for each page. So the function first reads, in key order, the day of the row after the page.
 */
export async function daysOfPage(
  store: QueryStore,
  {
    metric,
    endpoint,
    query,
    order,
    chosen,
    limit,
  }: {
    readonly metric: Metric;
    readonly endpoint: MetricEndpoint;
    readonly query: Query;
    readonly order: readonly OrderColumn[];
    readonly chosen: Sql;
    readonly limit: number;
  },
): Promise<Sql | null> {
  // A filter leaves few rows, so finding the end of the page would cost as much as reading the page.
  const [first] = order;
  const isFiltered = query.conditions.length > 0 || query.changedSince !== undefined;
  if (metric.materialized === false || !endpoint.isLimited || isFiltered || !first) return null;
  const { column, descending } = first;
  const isByDay = column === metric.key[0] && column === endpoint.dates?.column;
  const leavesKey = order.some((one, i) => one.descending || one.column !== metric.key[i]);
  if (!isByDay || !leavesKey) return null;
  const day = ident(column);
  const [next] = await store.rows<{ day: string }>(
    sql`SELECT toString(rows.${day}) AS day ${chosen} ORDER BY rows.${day}${raw(descending ? ' DESC' : '')} LIMIT 1 OFFSET ${limit}`,
  );
  return next === undefined ? null : sql`${day} ${raw(descending ? '>=' : '<=')} ${next.day}`;
}
