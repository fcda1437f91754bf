import { type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { sequenceAt, timeOfSequence } from '../../infra/coordination/sequence.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';
import type { MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { isRecorded, sliceKeyOfChange, sliceKeyOfRow } from './slices.ts';
import { metricChanges } from './tables.ts';

/** Clocks of processes differ by less: a day has ended on all of them so long after midnight. */
const CLOCKS_APART_MS = 60_000;

export const recordedMetrics = materializedMetrics.filter(isRecorded);
/** Their rows change when their day ends, without a computation. */
const CHANGING_AT_NIGHT = recordedMetrics.filter(({ whileDayRuns }) => whileDayRuns).map(({ name }) => name);

/** The first day that has not ended on the clock of every process. */
export const firstOpenDay = (now: number): string => isoDay(now - CLOCKS_APART_MS);

/** Every change that the end of a day makes before now has a lower number. */
export const endOfOpenDay = (now: number): bigint =>
  sequenceAt(Date.parse(firstOpenDay(now)) + DAY_MS + CLOCKS_APART_MS);

interface ChangesAfter {
  readonly after: bigint;
  /** As `firstOpenDay` gives it. */
  readonly openDay: string;
}

/** The last change of each slice that changed above a number, with its `position` among them. */
export function changesAfter({ after, openDay }: ChangesAfter, metric?: MaterializedMetric): Sql {
  const dayOfAfter = isoDay(timeOfSequence(after) - DAY_MS - CLOCKS_APART_MS);
  const atNight = sql`metric IN ${CHANGING_AT_NIGHT}`;
  const ended = sql`bitShiftLeft(toUInt64(toUInt16(toDateOrZero(slice)) + 1) * ${DAY_MS} + ${CLOCKS_APART_MS}, 20)`;
  return sql`SELECT metric, relay_chain, chain, slice, argMax(change.row_count, change.sequence) AS now_rows,
      argMax(change.run, change.sequence) AS last_run,
      greatest(max(change.sequence), if(${atNight} AND slice < ${openDay}, ${ended}, 0)) AS position
    FROM ${metricChanges} AS change
    WHERE ${metric ? sql`metric = ${metric.name}` : sql`metric IN ${recordedMetrics.map(({ name }) => name)}`}
      AND (change.sequence > ${after} OR (${atNight} AND slice >= ${dayOfAfter}))
    GROUP BY metric, relay_chain, chain, slice HAVING position > ${after}`;
}

/** The condition that a row is of a slice that has changed. */
export const hasChanged = (metric: MaterializedMetric, since: ChangesAfter): Sql =>
  sql`(${sliceKeyOfRow(metric)}) IN (SELECT ${sliceKeyOfChange(metric)} FROM (${changesAfter(since, metric)}))`;
