import type { MaterializedMetric, MetricEndpoint, Relay } from '../../../aggregate/metric.ts';
import { materializedMetrics } from '../../../aggregate/metrics/index.ts';
import { type Column, clickhouseType } from '../../../infra/clickhouse/columns.ts';
import { FIRST_DAY, LAST_DAY } from '../../../infra/clickhouse/date-range.ts';
import { ident, sql } from '../../../infra/clickhouse/sql.ts';
import type { QueryStore } from '../../http/readers.ts';
import { wholeAnswer } from '../answers.ts';

/** A numeric column by chain and day or month, which can be drawn as a line. */
export interface Drawable {
  /** Path without `/api/`, and column. */
  readonly id: string;
  readonly column: string;
  readonly meaning: string;
  readonly metric: MaterializedMetric;
  readonly endpoint: MetricEndpoint;
}

export interface Series {
  readonly name: string;
  readonly points: readonly { readonly at: Date; readonly value: number }[];
}

const DIMENSIONS = new Set(['date', 'month', 'relay_chain', 'chain']);

export const drawables: readonly Drawable[] = materializedMetrics.flatMap((metric) =>
  metric.key.every((name) => DIMENSIONS.has(name))
    ? metric.endpoints
        .filter(({ dates }) => dates?.column)
        .flatMap((endpoint) => drawablesOf(metric, endpoint))
    : [],
);

function isNumber(column: Column): boolean {
  return /^(Nullable\()?(U?Int|Float|Decimal)\d/.test(clickhouseType(column));
}

function drawablesOf(metric: MaterializedMetric, endpoint: MetricEndpoint): Drawable[] {
  return Object.entries(metric.columns)
    .filter(([name, column]) => !DIMENSIONS.has(name) && isNumber(column) && !name.endsWith('_planck'))
    .map(([column, { description = '' }]) => ({
      id: `${endpoint.path.replace('/api/', '')}.${column}`,
      column,
      meaning: description,
      metric,
      endpoint,
    }));
}

export interface Wanted {
  readonly relay_chain: Relay;
  /** Days up to the newest one that has a row. */
  readonly days: number;
  readonly today: string;
}

/** The lines of a metric, those with the largest sums first. Days without a value are gaps. */
export async function seriesOf(store: QueryStore, drawable: Drawable, wanted: Wanted): Promise<Series[]> {
  const { metric, endpoint, column } = drawable;
  const day = ident(endpoint.dates?.column as string);
  const rows = wholeAnswer(
    metric,
    endpoint,
    {
      relay_chain: wanted.relay_chain,
      chain: undefined,
      isDated: false,
      start: FIRST_DAY,
      end: LAST_DAY,
      conditions: [],
      order: undefined,
      limit: undefined,
      cursor: undefined,
      format: undefined,
      today: wanted.today,
    },
    'CSV',
  );
  const lines = await store.rows<{ name: string; days: string[]; numbers: number[] }>(
    sql`WITH points AS (
        SELECT chain, toDate(${day}) AS day_of, assumeNotNull(toFloat64(${ident(column)})) AS number
        FROM (${rows}) WHERE isNotNull(${ident(column)}))
      SELECT toString(chain) AS name, arrayMap(point -> toString(point.1), sorted) AS days,
        arrayMap(point -> point.2, sorted) AS numbers
      FROM (
        SELECT chain, arraySort(groupArray((day_of, number))) AS sorted, sum(number) AS total FROM points
        WHERE day_of > (SELECT max(day_of) FROM points) - ${wanted.days} GROUP BY chain
      ) ORDER BY total DESC, name`,
  );
  return lines.map(({ name, days, numbers }) => ({
    name,
    points: days.map((text, i) => ({ at: new Date(`${text}T00:00:00Z`), value: numbers[i] as number })),
  }));
}
