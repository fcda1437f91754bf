import { sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import { ANY_PALLET, dirtyHours } from '../../ingest/raw/tables.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import type { NumberedDirtyDay } from './dirty-days.ts';
import { computedOf, type Marks } from './lanes.ts';

/** The hours of a chain's day that have changed, each with the number of the last load. */
export interface NumberedDirtyHours {
  /** `*` for hours that blocks were taken from. */
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
  readonly hours: readonly (readonly [hour: number, sequence: string])[];
}

/** Days that are computed by their hours at most: many whole days are few statements, their hours are many. */
const DAYS_MAX = 3;

/**
 * The hours of these days that metrics with such marks lack. None where hours may be unknown: a load of a version before
 * there were any wrote none, so that one has to be known of a load that every metric has computed.
 */
export async function readDirtyHours(
  store: Pick<Store, 'rows'>,
  days: readonly NumberedDirtyDay[],
  marks: readonly Marks[],
): Promise<readonly NumberedDirtyHours[]> {
  const distinct = daysOf(days);
  if (distinct.length === 0 || distinct.length > DAYS_MAX) return [];
  const after = computedOf(marks, distinct);
  return store.rows<NumberedDirtyHours>(
    sql`SELECT pallet, relay_chain, chain, toString(toDate(hour)) AS day,
        groupArray((toHour(hour), toString(newest))) AS hours
      FROM (SELECT pallet, relay_chain, chain, hour, max(dirty.sequence) AS newest FROM ${dirtyHours} AS dirty
        WHERE dirty.sequence > ${after} AND toDate(hour) IN ${distinct} GROUP BY pallet, relay_chain, chain, hour)
      WHERE (SELECT count() FROM (SELECT 1 FROM ${dirtyHours} AS dirty WHERE dirty.sequence <= ${after} LIMIT 1)) > 0
      GROUP BY pallet, relay_chain, chain, day`,
  );
}

/**
 * The days, each with its hours that have changed. A load writes the hours with the days: a day that is newer than its
 * hours comes from a rebuild or from a load that wrote only a part.
 */
export function withHours(
  days: readonly NumberedDirtyDay[],
  dirty: readonly NumberedDirtyHours[],
  isLacking: (day: string, sequence: bigint) => boolean,
): readonly NumberedDirtyDay[] {
  if (dirty.length === 0 || daysOf(days).length > DAYS_MAX) return days;
  const byDay = new Map(dirty.map((hours) => [keyOf(hours), hours.hours]));
  return days.map((day) => {
    if (day.stream !== 'blocks') return day;
    const pallet = day.pallet === ANY_PALLET ? ANY_PALLET : '';
    const lacking = (byDay.get(keyOf({ ...day, pallet })) ?? []).filter(([, sequence]) =>
      isLacking(day.day, BigInt(sequence)),
    );
    if (!lacking.some(([, sequence]) => BigInt(sequence) >= BigInt(day.sequence))) return day;
    return { ...day, hours: lacking.map(([hour]) => hour) };
  });
}

/** Whether it is known of all days with blocks which of their hours have changed; others are computed as a whole. */
const areHoursKnown = (days: readonly NumberedDirtyDay[]): boolean =>
  days.every(({ stream, hours }) => stream !== 'blocks' || hours);

/** The windows, those of metrics whose rows are of one chain each narrowed to the chains that have changed. */
export function withChains(
  windows: readonly PlannedWindow[],
  days: readonly NumberedDirtyDay[],
  ofOneChain: ReadonlySet<string>,
): readonly PlannedWindow[] {
  if (!areHoursKnown(days)) return windows;
  const changed = days.filter(({ stream }) => stream === 'blocks');
  return windows.map((window) => {
    if (!ofOneChain.has(window.metric)) return window;
    const own = changed.filter(({ relay_chain }) => window.relays.includes(relay_chain));
    const chains = [...new Set(own.map(({ chain }) => chain))].sort();
    return chains.length > 0 ? { ...window, chains } : window;
  });
}

/** When the first of these days or hours with blocks begins; undefined where none has blocks. */
export const firstOf = (days: readonly NumberedDirtyDay[]): string | undefined =>
  days
    .filter(({ stream }) => stream === 'blocks')
    .map(({ day, hours }) => (hours ? `${day} ${String(Math.min(...hours)).padStart(2, '0')}:00:00` : day))
    .sort()[0];

/** The days with blocks that have changed. */
const daysOf = (days: readonly NumberedDirtyDay[]): string[] => [
  ...new Set(days.filter(({ stream }) => stream === 'blocks').map(({ day }) => day)),
];

const keyOf = (of: Omit<NumberedDirtyHours, 'hours'>) =>
  `${of.pallet} ${of.relay_chain}/${of.chain}/${of.day}`;
