import type { Metric } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/sql.ts';
import { ofRelays, type Window } from '../../ingest/raw/canonical.ts';
import { type RawTable, rawData } from '../../ingest/raw/raw-data.ts';

/** A relation for operator queries: the canonical rows of a raw table, or the rows of a metric. */
interface Relation {
  readonly name: string;
  readonly doc: string;
  /** ClickHouse types by column. */
  readonly columns: Readonly<Record<string, string>>;
  readonly select: (window: Window) => Sql;
}

/** Relations by name. */
export const relations: ReadonlyMap<string, Relation> = new Map(
  [...[...rawData.values()].map(rawRelation), ...metrics.flatMap(metricRelation)].map((relation) => [
    relation.name,
    relation,
  ]),
);

function rawRelation({ name, doc, columns, rows }: RawTable): Relation {
  const read = Object.entries(columns).map(([column, { select }]) => sql`${raw(select)} AS ${ident(column)}`);
  return {
    ...{ name, doc },
    columns: Object.fromEntries(Object.entries(columns).map(([column, { type }]) => [column, type])),
    select: (window) => sql`SELECT ${join(read)} FROM ${rows(window)}`,
  };
}

/** Metrics that are computed on each request have no rows to query. */
function metricRelation(metric: Metric): Relation[] {
  if (metric.materialized === false || metric.endpoints.length === 0) return [];
  const { name, doc, table, period, servedRows } = metric;
  const columns = Object.fromEntries(
    Object.keys(metric.columns).map((column) => [column, table.columns[column] as string]),
  );
  const days = ({ from, until }: Window) =>
    period === null
      ? sql`1`
      : sql`toDate(${ident(period)}) >= ${from} AND toDate(${ident(period)}) < ${until}`;
  return [
    {
      ...{ name, doc, columns },
      select: (window) => sql`SELECT ${join(Object.keys(columns).map(ident))} FROM ${table} FINAL
        WHERE ${ofRelays(window)} AND ${days(window)} AND ${servedRows?.(undefined) ?? sql`1`}`,
    },
  ];
}
