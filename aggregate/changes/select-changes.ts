import { sequenceAt, timeOfSequence } from '../../infra/coordination/sequence.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';
import { ident, join, type Sql, sql } from '../../infra/sql.ts';
import type { MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { emptiedMetrics } from '../runner/ledger.ts';
import { sliceKeyOfRow, sliceOfRow, supportsChanges } from '../slices.ts';

// A window writes only rows that differ from the stored ones, tombstones included. So the changes since a version are the
// rows above it.

/** Clocks of processes differ by less, so a day has ended for all of them this long after midnight. */
const CLOCKS_APART_MS = 60_000;

export const metricsWithChanges = materializedMetrics.filter(supportsChanges);

/** The first day that may still be running by the clock of some process. */
export const firstOpenDay = (now: number): string => isoDay(now - CLOCKS_APART_MS);

/** The number of the change that the end of the first open day makes. */
export const endOfOpenDay = (now: number): bigint =>
  sequenceAt(Date.parse(firstOpenDay(now)) + DAY_MS + CLOCKS_APART_MS);

interface Since {
  readonly after: bigint;
  /** The result of `firstOpenDay`. */
  readonly openDay: string;
}

/** Selects the slices that changed after `after`, each with its last change and the `position` of that change. */
export const changesAfter = (metrics: readonly MaterializedMetric[], since: Since): Sql =>
  join([...metrics.map((metric) => changesOf(metric, since)), emptiedAfter(metrics, since)], ' UNION ALL ');

/** Selects rows of slices that changed, and of metrics that were emptied. */
export const hasChanged = (metric: MaterializedMetric, since: Since): Sql =>
  sql`(${isOfChanged(metric, since)} OR relay_chain IN (SELECT relay_chain FROM ${emptiedMetrics} AS emptied
    WHERE metric = ${metric.name} AND emptied.sequence > ${since.after}))`;

const isOfChanged = (metric: MaterializedMetric, since: Since): Sql =>
  sql`(${sliceKeyOfRow(metric)}) IN (
    SELECT ${sliceKeyOfRow(metric)} FROM ${metric.table} WHERE ${mayHaveChanged(metric, since)})`;

function changesOf(metric: MaterializedMetric, since: Since): Sql {
  const { table } = metric;
  const slice = sliceOfRow(metric);
  const ended = sql`bitShiftLeft(toUInt64(toUInt16(toDateOrZero(slice)) + 1) * ${DAY_MS} + ${CLOCKS_APART_MS}, 20)`;
  const dayEnd = metric.provisionalColumns ? sql`if(slice < ${since.openDay}, ${ended}, 0)` : sql`0`;
  return sql`SELECT ${metric.name} AS metric, of_relay AS relay_chain, of_chain AS chain, slice,
      toInt64(sum(of_rows)) AS now_rows, max(of_version) AS last_version,
      greatest(last_version, toUInt64(${dayEnd})) AS position
    FROM (
      SELECT ${slice}, 0 AS of_rows, max(version) AS of_version FROM ${table}
      WHERE ${mayHaveChanged(metric, since)} GROUP BY of_relay, of_chain, slice
      UNION ALL
      SELECT ${slice}, count() AS of_rows, 0 AS of_version FROM ${table} FINAL
      WHERE ${isOfChanged(metric, since)} GROUP BY of_relay, of_chain, slice
    ) GROUP BY of_relay, of_chain, slice HAVING position > ${since.after}`;
}

/** The condition of rows with a version above `after`, and of rows that changed only because their day ended. */
function mayHaveChanged({ provisionalColumns, period }: MaterializedMetric, { after, openDay }: Since): Sql {
  const isNewer = sql`version > ${after}`;
  if (!provisionalColumns || period === null) return isNewer;
  // The last day whose end is at or before `after`.
  const dayOfAfter = isoDay(timeOfSequence(after) - DAY_MS - CLOCKS_APART_MS);
  return sql`(${isNewer} OR (${ident(period)} > ${dayOfAfter} AND ${ident(period)} < ${openDay}))`;
}

/** The slice '' stands for all rows of a relay chain: the metric was emptied because its definition changed. */
const emptiedAfter = (metrics: readonly MaterializedMetric[], { after }: Since): Sql =>
  sql`SELECT toString(emptied.metric) AS metric, toString(relay_chain) AS relay_chain, '' AS chain, '' AS slice,
      toInt64(0) AS now_rows, max(emptied.sequence) AS last_version, last_version AS position
    FROM ${emptiedMetrics} AS emptied
    WHERE metric IN ${metrics.map(({ name }) => name)} GROUP BY metric, relay_chain HAVING position > ${after}`;
