import { renderColumn } from '../../aggregate/columns.ts';
import type { MaterializedMetric, Metric, Ordering, ViewMetric } from '../../aggregate/metric.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import type { Input } from '../reference/input.ts';

export type Row = Readonly<Record<string, unknown>>;

/** A metric and the slow function that says what its rows have to be. */
export interface MetricCase {
  readonly metric: Metric;
  readonly reference: (input: Input) => readonly object[];
  /** Served columns whose content no rule decides. */
  readonly free?: readonly string[];
}

/** All rows of a metric as readers get them, in the order of its answers. */
export function servedRows(
  pipeline: Pipeline,
  { metric, free = [] }: Omit<MetricCase, 'reference'>,
): Promise<Row[]> {
  const columns = columnsOf(metric, free);
  return metric.materialized === false
    ? rowsOfChains(pipeline, metric, columns)
    : keptRows(pipeline, metric, columns);
}

function keptRows(pipeline: Pipeline, metric: MaterializedMetric, columns: Sql): Promise<Row[]> {
  return pipeline.runtime.store.rows<Row>(
    sql`SELECT ${columns} FROM ${metric.table} FINAL
      WHERE ${metric.servedRows?.(undefined) ?? sql`1`} ORDER BY ${orderOf(metric)}`,
  );
}

async function rowsOfChains(pipeline: Pipeline, metric: ViewMetric, columns: Sql): Promise<Row[]> {
  const { store } = pipeline.runtime;
  const chains = await store.rows<{ relay_chain: string; chain: string }>(
    sql`SELECT DISTINCT relay_chain, chain FROM ${blocks} ORDER BY relay_chain, chain`,
  );
  const rows: Row[] = [];
  for (const of of chains) {
    rows.push(
      ...(await store.rows<Row>(
        sql`SELECT ${columns} FROM (${metric.select(of)}) ORDER BY ${orderOf(metric)}`,
      )),
    );
  }
  return rows;
}

function columnsOf(metric: Metric, left: readonly string[]): Sql {
  const served = Object.entries(metric.columns).filter(([name]) => !left.includes(name));
  return raw(served.map(([name, column]) => renderColumn(name, column)).join(', '));
}

function orderOf(metric: Metric): Sql {
  return raw((metric.order ?? metric.key).map(orderingText).join(', '));
}

const orderingText = (part: Ordering) => (typeof part === 'string' ? part : `${part.column} DESC`);
