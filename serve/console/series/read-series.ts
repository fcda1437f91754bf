import type { Merge } from '../../../aggregate/units.ts';
import { ident, join, raw, type Sql, sql } from '../../../infra/sql.ts';
import type { QueryStore } from '../../http/readers.ts';
import { allRowsStatement } from '../../metrics/answers.ts';
import type { Query } from '../../metrics/parameters.ts';
import { addDays, dayAt, type Periods } from '../model/periods.ts';
import { type Line, lineId } from './chart-metrics.ts';

/** Values by the id of the line: one per period, null if unknown. */
type LineValues = ReadonlyMap<string, readonly (number | null)[]>;

/** Groups lines by statement: per metric, or per metric and chain if `servedRows` depends on the chain. */
export function statementsOf(lines: readonly Line[]): readonly (readonly Line[])[] {
  const key = ({ metric, chain }: Line) => (metric.metric.servedRows ? `${metric.id}@${chain}` : metric.id);
  return [...Map.groupBy(lines, key).values()];
}

interface Over {
  readonly periods: Periods;
  readonly today: string;
}

/** Reads the lines of one statement. */
export async function readSeries(store: QueryStore, lines: readonly Line[], over: Over): Promise<LineValues> {
  const columns = columnsOf(lines);
  const rows = await store.rows<ReadRow>(statementOf(lines, over));
  const byKey = Map.groupBy(rows, ({ line }) => line);
  return new Map(
    lines.map((line) => {
      const filled = new Array<number | null>(over.periods.count).fill(null);
      const column = `value_${columns.indexOf(line.column)}` as const;
      for (const row of byKey.get(keyOf(line)) ?? []) filled[row.place] = row[column] ?? null;
      return [lineId(line), filled];
    }),
  );
}

type ReadRow = {
  readonly line: string;
  readonly place: number;
} & Readonly<Record<`value_${number}`, number | null>>;

/** The statement of a file: one row per value. */
export function rowsStatement(lines: readonly Line[], over: Over): Sql {
  const { per, start } = over.periods;
  const parts = statementsOf(lines).flatMap((some) =>
    columnsOf(some).map((column, i) => {
      const wanted = some.filter((line) => line.column === column).map(keyOf);
      return sql`SELECT date_add(${UNITS[per]}, place, toDate(${start})) AS date, ${some[0]?.metric.id ?? ''} AS metric,
          ${column.name} AS column, ${column.shown.title} AS title, relay_chain, chain, part, ${column.shown.unit} AS unit, ${ident(`value_${i}`)} AS value
        FROM (${statementOf(some, over)}) WHERE line IN ${wanted}`;
    }),
  );
  return sql`SELECT * FROM (${join(parts, ' UNION ALL ')}) ORDER BY metric, column, relay_chain, chain, part, date`;
}

const columnsOf = (lines: readonly Line[]) => [...new Set(lines.map(({ column }) => column))];

/** Selects the columns as `value_0`, `value_1`, …, by line and index of the period. */
function statementOf(lines: readonly Line[], { periods, today }: Over): Sql {
  const [first] = lines;
  if (first === undefined) throw new Error('a statement without a line');
  const { metric, endpoint, dayColumn, parts } = first.metric;
  const query: Query = {
    relay_chain: undefined,
    chain: metric.servedRows ? first.chain : undefined,
    isDated: true,
    start: periods.start,
    end: addDays(dayAt(periods, periods.count), -1),
    conditions: [
      sql`concat(relay_chain, '/', chain) IN ${[...new Set(lines.map(chainOf))]}`,
      ...partsIn(lines),
    ],
    order: undefined,
    changedSince: undefined,
    limit: undefined,
    cursor: undefined,
    format: undefined,
    bom: false,
    today,
  };
  const values = columnsOf(lines).map(
    ({ name, shown }, i) => sql`${merged(shown.overTime, name, dayColumn)} AS ${ident(`value_${i}`)}`,
  );
  return sql`SELECT relay_chain, chain, arrayStringConcat(${partsSql(parts)}, '/') AS part, concat(relay_chain, '/', chain, '/', part) AS line,
      ${placeSql(periods, dayColumn)} AS place, ${join(values)}
    FROM (${allRowsStatement(metric, endpoint, query, 'CSV')}) GROUP BY relay_chain, chain, part, place`;
}

const chainOf = ({ relay_chain, chain }: Line): string => `${relay_chain}/${chain}`;
const keyOf = (line: Line): string => [chainOf(line), line.parts.join('/')].join('/');

/** The parts of a line as an SQL array; empty if a chain has one line. */
export const partsSql = (names: readonly string[]): Sql =>
  sql`[${join(names.map((name) => sql`toString(${ident(name)})`))}]::Array(String)`;

/** Conditions that read only the requested parts. */
const partsIn = (lines: readonly Line[]): Sql[] =>
  (lines[0]?.metric.parts ?? []).map(
    (name, i) => sql`${ident(name)} IN ${[...new Set(lines.map(({ parts }) => parts[i] ?? ''))]}`,
  );

const UNITS = { day: raw('DAY'), week: raw('WEEK'), month: raw('MONTH') } as const;

const placeSql = ({ per, start }: Periods, dayColumn: string): Sql =>
  sql`toUInt32(dateDiff(${per}, toDate(${start}), toDate(${ident(dayColumn)})))`;

/** The value of a period. Values that cannot be combined, such as distinct accounts, are averaged over its days. */
function merged(merge: Merge, name: string, dayColumn: string): Sql {
  const value = sql`toFloat64(${ident(name)})`;
  if (merge === 'sum') return sql`sum(${value})`;
  if (merge === 'max') return sql`max(${value})`;
  if (merge === 'min') return sql`min(${value})`;
  if (merge === 'last') return sql`argMax(${value}, ${ident(dayColumn)})`;
  return sql`avg(${value})`;
}
