import type { Metric } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import { ident, join, raw, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import type { Table } from '../../infra/clickhouse/table.ts';
import {
  canonicalBlocks,
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  ofRelays,
  type Window,
  within,
} from '../../ingest/raw/canonical.ts';
import { blocks, calls, events, extrinsics, prices, snapshots } from '../../ingest/raw/tables.ts';

/** What a query of an operator may read by this name: canonical rows of a raw table, or the rows of a metric. */
export interface Relation {
  readonly name: string;
  readonly doc: string;
  /** ClickHouse types by column. */
  readonly columns: Readonly<Record<string, string>>;
  readonly select: (window: Window) => Sql;
}

/** Columns by which versions are ordered: every row of a relation is the one that counts. */
const INTERNAL = new Set(['rank', 'is_deleted', 'run', 'version']);

const moment = (window: Window, column: string) =>
  sql`${ofRelays(window)} AND ${within(window, raw(column))}`;

const fromRaw: readonly (readonly [table: Table, rows: (window: Window) => Sql])[] = [
  [blocks, (window) => canonicalBlocks(window)],
  [extrinsics, (window) => canonicalExtrinsics(window)],
  [events, (window) => canonicalEvents(window)],
  [calls, (window) => canonicalCalls(window)],
  [snapshots, (window) => sql`(SELECT * FROM ${snapshots} FINAL WHERE ${moment(window, 'as_of')})`],
  [prices, (window) => sql`(SELECT * FROM ${prices} FINAL WHERE ${moment(window, 'as_of')})`],
];

/** Every relation by its name. */
export const relations: ReadonlyMap<string, Relation> = new Map(
  [...fromRaw.map(([table, rows]) => rawRelation(table, rows)), ...metrics.flatMap(metricRelation)].map(
    (relation) => [relation.name, relation],
  ),
);

function rawRelation({ name, doc, columns }: Table, rows: (window: Window) => Sql): Relation {
  const served = Object.fromEntries(Object.entries(columns).filter(([column]) => !INTERNAL.has(column)));
  return {
    ...{ name, doc },
    columns: served,
    select: (window) => sql`SELECT ${join(Object.keys(served).map(ident))} FROM ${rows(window)}`,
  };
}

/** Metrics that are computed when they are read have no rows to query. */
function metricRelation(metric: Metric): Relation[] {
  if (metric.materialized === false || metric.endpoints.length === 0) return [];
  const { name, doc, table, period, served } = metric;
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
        WHERE ${ofRelays(window)} AND ${days(window)} AND ${served?.(undefined) ?? sql`1`}`,
    },
  ];
}
