import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { ident, raw, type Sql, sql } from '../../infra/sql.ts';
import type { QueryStore } from '../http/readers.ts';
import type { OrderColumn } from './cursor.ts';
import type { Query } from './parameters.ts';

/**
 * ClickHouse reads a table in the order of its key and stops at the limit; with FINAL only when the order of the answer
 * does not leave that of the key. Where it does, all chosen rows would be read and sorted for each page. So the day of
 * the row after the page is read first, in the order of the key, and the page is chosen from the days up to it.
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
  // Few rows match a filter: to look for the end of their page would read as much as the page.
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
