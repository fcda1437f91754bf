import { join, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import { DAY_MS, isoDay } from '../../infra/days.ts';

/**
 * Days are computed in two lanes, so that a backfill of years does not delay what happens now: the last days in the
 * live lane, all days before them in the backfill lane.
 */
export type ComputeLane = 'live' | 'backfill';
export const COMPUTE_LANES: readonly ComputeLane[] = ['live', 'backfill'];
export const otherLane = (lane: ComputeLane): ComputeLane => (lane === 'live' ? 'backfill' : 'live');

const MAX_SEQUENCE = 2n ** 64n - 1n;

/** The first day of the live lane. */
export const firstLiveDay = (now: number, liveDays: number): string => isoDay(now - (liveDays - 1) * DAY_MS);

/** The load up to which a lane is computed. Each round has its own first live day, so it is part of the mark. */
interface LaneMark {
  readonly sequence: bigint;
  /** The first day of the live lane then: the mark of the live lane holds from it on, the other before it. */
  readonly day: string;
}

/** Up to which load a metric is computed: all days, and those of each lane where it is ahead. */
export interface Marks {
  /** 0 when the rows were deleted, undefined when the metric was never computed here. */
  readonly all: bigint | undefined;
  readonly lanes: Partial<Readonly<Record<ComputeLane, LaneMark>>>;
}

export const NOT_COMPUTED: Marks = { all: undefined, lanes: {} };

/** Whether a metric has rows of every day of a lane that was loaded before some round. */
export const hasRowsOf = ({ all, lanes }: Marks, lane: ComputeLane): boolean =>
  Boolean(all) || lanes[lane] !== undefined;

const covers = (mark: LaneMark | undefined, lane: ComputeLane, day: string): mark is LaneMark =>
  mark !== undefined && (lane === 'live' ? day >= mark.day : day < mark.day);

/** Whether a change of a day by the load of this number is in the rows of the metric. */
export const isComputed = ({ all = 0n, lanes }: Marks, day: string, sequence: bigint): boolean =>
  sequence <= all ||
  COMPUTE_LANES.some((lane) => {
    const mark = lanes[lane];
    return covers(mark, lane, day) && sequence <= mark.sequence;
  });

/** Every load up to this number is in the rows that metrics with these marks have of these days. */
export const computedOf = (marks: readonly Marks[], days: readonly string[]): bigint =>
  lowestOf(
    marks.map(({ all = 0n, lanes }) => {
      const covering = COMPUTE_LANES.flatMap((lane) => {
        const mark = lanes[lane];
        return days.every((day) => covers(mark, lane, day)) ? [(mark as LaneMark).sequence] : [];
      });
      return [all, ...covering].reduce((a, b) => (a > b ? a : b));
    }),
    MAX_SEQUENCE,
  );

/** The condition that a dirty day is not in the rows of a metric with these marks. */
function isNotComputed({ all = 0n, lanes: { live, backfill } }: Marks): Sql {
  return join(
    [
      sql`dirty.sequence > ${all}`,
      ...(live ? [sql`NOT (dirty.day >= ${live.day} AND dirty.sequence <= ${live.sequence})`] : []),
      ...(backfill
        ? [sql`NOT (dirty.day < ${backfill.day} AND dirty.sequence <= ${backfill.sequence})`]
        : []),
    ],
    ' AND ',
  );
}

/** Every day of loads up to this number is in the rows of all of these metrics. */
export const lowestMark = (marks: readonly Marks[]): bigint =>
  lowestOf(
    marks.map(({ all = 0n }) => all),
    MAX_SEQUENCE,
  );

/** The condition that a dirty day is missing in the rows of any of these metrics. */
export function isMissingInAny(marks: readonly Marks[]): Sql {
  const lowest = lowestMark(marks);
  // The first condition lets the engine skip what is older by the index.
  return sql`dirty.sequence > ${lowest} AND (${join(
    marks.length === 0 ? [sql`0`] : marks.map((one) => sql`(${isNotComputed(one)})`),
    ' OR ',
  )})`;
}

export const isInLane = (lane: ComputeLane, liveFrom: string): Sql =>
  lane === 'live' ? sql`dirty.day >= ${liveFrom}` : sql`dirty.day < ${liveFrom}`;

/** Metrics with the same marks, which share a plan. */
export function byMarks<M extends { readonly name: string }>(
  metrics: readonly M[],
  marks: ReadonlyMap<string, Marks>,
): { marks: Marks; metrics: M[] }[] {
  const groups = new Map<string, { marks: Marks; metrics: M[] }>();
  for (const metric of metrics) {
    const own = marks.get(metric.name) ?? NOT_COMPUTED;
    const { live, backfill } = own.lanes;
    const key = [own.all, live?.sequence, live?.day, backfill?.sequence, backfill?.day].join(' ');
    const group = groups.get(key) ?? { marks: own, metrics: [] };
    group.metrics.push(metric);
    groups.set(key, group);
  }
  return [...groups.values()];
}

/** The load up to which all days are computed, where the marks of both lanes prove a higher one; else undefined. */
export function provenForAll({ all = 0n, lanes: { live, backfill } }: Marks): bigint | undefined {
  if (!live || !backfill || live.day > backfill.day) return undefined;
  const proven = lowestOf([live.sequence], backfill.sequence);
  return proven > all ? proven : undefined;
}
