import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { ANY_PALLET, dirtyHours } from '../../ingest/raw/tables.ts';
import type { NumberedDirtyDay } from './dirty-days.ts';

/** The changed hours of a chain and day, each with the number of the last load that changed it. */
export interface NumberedDirtyHours {
  /** Empty for hours with added blocks, `*` for hours that lost blocks. */
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
  readonly hours: readonly (readonly [hour: number, sequence: string])[];
}

/** At most this many days are computed by hours. More days are computed whole, which takes fewer statements. */
const DAYS_MAX = 3;

/** The hours of these days that loads above `after` changed; empty if there are many days. */
export async function readDirtyHours(
  store: Pick<Store, 'rows'>,
  days: readonly NumberedDirtyDay[],
  after: bigint,
): Promise<readonly NumberedDirtyHours[]> {
  const distinct = daysOf(days);
  if (distinct.length === 0 || distinct.length > DAYS_MAX) return [];
  return store.rows<NumberedDirtyHours>(
    sql`SELECT pallet, relay_chain, chain, toString(toDate(hour)) AS day,
        groupArray((toHour(hour), toString(newest))) AS hours
      FROM (SELECT pallet, relay_chain, chain, hour, max(dirty.sequence) AS newest FROM ${dirtyHours} AS dirty
        WHERE dirty.sequence > ${after} AND toDate(hour) IN ${distinct} GROUP BY pallet, relay_chain, chain, hour)
      GROUP BY pallet, relay_chain, chain, day`,
  );
}

/**
 * Adds the changed hours to each day. A load records hours together with days. If a day is newer than its hours, a load
 * ended after it had recorded only the day, so the whole day is computed.
 */
export function addHours(
  days: readonly NumberedDirtyDay[],
  dirty: readonly NumberedDirtyHours[],
  isLacking: (sequence: bigint) => boolean,
): readonly NumberedDirtyDay[] {
  if (dirty.length === 0 || daysOf(days).length > DAYS_MAX) return days;
  const byDay = new Map(dirty.map((hours) => [keyOf(hours), hours.hours]));
  return days.map((day) => {
    if (day.stream !== 'blocks') return day;
    const pallet = day.pallet === ANY_PALLET ? ANY_PALLET : '';
    const hours = byDay.get(keyOf({ ...day, pallet })) ?? [];
    const lacking = hours.filter(([, sequence]) => isLacking(BigInt(sequence)));
    if (!lacking.some(([, sequence]) => BigInt(sequence) >= BigInt(day.sequence))) return day;
    return { ...day, hours: lacking.map(([hour]) => hour) };
  });
}

/** The start of the earliest day or hour with blocks; undefined if none has blocks. */
export const earliestStart = (days: readonly NumberedDirtyDay[]): string | undefined =>
  days
    .filter(({ stream }) => stream === 'blocks')
    .map(({ day, hours }) => (hours ? `${day} ${String(Math.min(...hours)).padStart(2, '0')}:00:00` : day))
    .sort()[0];

/** The distinct days whose blocks changed. */
const daysOf = (days: readonly NumberedDirtyDay[]): string[] => [
  ...new Set(days.filter(({ stream }) => stream === 'blocks').map(({ day }) => day)),
];

const keyOf = (row: Omit<NumberedDirtyHours, 'hours'>) =>
  `${row.pallet} ${row.relay_chain}/${row.chain}/${row.day}`;
