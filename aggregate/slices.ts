import { ident, raw, type Sql, sql } from '../infra/sql.ts';
import { clickhouseType } from './columns.ts';
import type { MaterializedMetric, Metric } from './metric.ts';

/**
 * How the rows of a metric are divided into slices, the units of `/api/changes`. A slice has one relay chain and, if the
 * key contains the chain, one chain.
 */
interface Slicing {
  /** Rows of a slice have the same value, or the same day, in this column; null if chains alone divide the rows. */
  readonly column: string | null;
  readonly isByDay: boolean;
  readonly isByChain: boolean;
}

/**
 * True if the changes of the metric can be listed. A view has no stored rows. If another table decides which rows of a
 * metric are served, an answer can change although no row of the metric changes.
 */
export const supportsChanges = (metric: Metric): metric is MaterializedMetric =>
  metric.materialized !== false &&
  metric.endpoints.length > 0 &&
  (metric.servedRows?.(undefined).tables.size ?? 0) === 0;

const CHAINS = ['relay_chain', 'chain'];

export function slicingOf({ period, key, columns }: MaterializedMetric): Slicing {
  const column = period ?? key.find((name) => !CHAINS.includes(name) && columns[name]) ?? null;
  const type = column === null ? '' : clickhouseType(columns[column] as never);
  return { column, isByDay: /^Date/.test(type), isByChain: key.includes('chain') };
}

/** Selects the relay chain, chain and value of the slice of a row, as text. */
export function sliceOfRow(metric: MaterializedMetric): Sql {
  const { column, isByDay, isByChain } = slicingOf(metric);
  const value =
    column === null
      ? sql`''`
      : isByDay
        ? sql`toString(toDate(${ident(column)}))`
        : sql`toString(${ident(column)})`;
  return sql`toString(relay_chain) AS of_relay, ${isByChain ? raw('toString(chain)') : sql`''`} AS of_chain, ${value} AS slice`;
}

/** The columns of the key by which the engine finds the rows of a slice. */
export function sliceKeyOfRow(metric: MaterializedMetric): Sql {
  const { column, isByDay, isByChain } = slicingOf(metric);
  const value = column === null ? [] : [isByDay ? `toDate(${ident(column).text})` : ident(column).text];
  return raw(['relay_chain', ...(isByChain ? ['chain'] : []), ...value].join(', '));
}
