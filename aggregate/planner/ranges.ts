import { DAY_MS, HOUR_MS } from '../../infra/days.ts';

/** Hours as numbers since the epoch, both inclusive. */
export type HourRange = readonly [first: number, last: number];
export const DAY_HOURS = 24;
/** Days as numbers since the epoch. */
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;
/** Formats the start of an hour; midnight as a day. */
export function formatHour(hour: number): string {
  const text = new Date(hour * HOUR_MS).toISOString();
  return hour % DAY_HOURS === 0 ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}
const dayOfHour = (hour: number) => Math.floor(hour / DAY_HOURS);
/** The hours of days, the last one included. */
export const hoursOfDays = (first: number, last: number): HourRange => [
  first * DAY_HOURS,
  last * DAY_HOURS + DAY_HOURS - 1,
];

export function wholeDays([a, b]: HourRange): HourRange {
  return hoursOfDays(dayOfHour(a), dayOfHour(b));
}

export function wholeMonths([a, b]: HourRange): HourRange {
  const first = new Date(a * HOUR_MS);
  const last = new Date(b * HOUR_MS);
  return hoursOfDays(
    Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), 1) / DAY_MS,
    Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1, 0) / DAY_MS,
  );
}

/** Joins ranges that are separated by at most `gapDaysMax` days with data. */
export function mergeRanges(
  ranges: readonly HourRange[],
  days: readonly number[],
  gapDaysMax: number,
): HourRange[] {
  const merged: [number, number][] = [];
  for (const [a, b] of [...ranges].sort((x, y) => x[0] - y[0] || x[1] - y[1])) {
    const open = merged.at(-1);
    if (open && countDaysIn([open[1] + 1, a - 1], days) <= gapDaysMax) open[1] = Math.max(open[1], b);
    else merged.push([a, b]);
  }
  return merged;
}

/** The days that have hours in the range. `days` are sorted. */
export const daysWithin = (range: HourRange, days: readonly number[]): readonly number[] =>
  days.slice(...placesOf(range, days));

export function countDaysIn(range: HourRange, days: readonly number[]): number {
  const [first, end] = placesOf(range, days);
  return end - first;
}

const placesOf = ([a, b]: HourRange, days: readonly number[]): [first: number, end: number] =>
  a > b ? [0, 0] : [countBefore(days, dayOfHour(a)), countBefore(days, dayOfHour(b) + 1)];

/** The sorted union of these days. */
export function unionOfDays(lists: readonly (readonly number[])[]): number[] {
  const days = new Set<number>();
  for (const list of lists) for (const day of list) days.add(day);
  return [...days].sort((a, b) => a - b);
}

/** Adds days to the sorted days of each key. Reuses lists without new days, because most lists are long. */
export function addDays(
  days: ReadonlyMap<string, readonly number[]>,
  more: ReadonlyMap<string, readonly number[]>,
): ReadonlyMap<string, readonly number[]> {
  const joined = new Map(days);
  for (const [key, own] of more) {
    const known = joined.get(key) ?? [];
    const isNew = own.some((day) => known[countBefore(known, day)] !== day);
    joined.set(key, isNew ? unionOfDays([known, own]) : known);
  }
  return joined;
}

/** Counts the days before a day, by binary search. */
export function countBefore(sorted: readonly number[], day: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) >= day) high = middle;
    else low = middle + 1;
  }
  return low;
}
