/** Days and months of UTC, as the text that records carry. */

export const DAY_MS = 86_400_000;

export function dayOf(time: number): string {
  return isoOf(time).slice(0, 10);
}

/** A month is named by its last day. */
export function monthOf(time: number): string {
  const date = new Date(time);
  return dayOf(Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 0));
}

export function isoOf(time: number): string {
  return new Date(time).toISOString();
}

export function addDays(day: string, count: number): string {
  return dayOf(Date.parse(`${day}T00:00:00.000Z`) + count * DAY_MS);
}

/** The last so many days, ending with this one. */
export function isWithinDays(day: string, count: number, end: string): boolean {
  return day <= end && day >= addDays(end, 1 - count);
}

/** Milliseconds of an ISO time in UTC; null for another form or a day that does not exist. */
export function parseTimestamp(text: string): number | null {
  if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$/.test(text)) return null;
  const time = Date.parse(text);
  return !Number.isNaN(time) && isoOf(time).slice(0, 19) === text.slice(0, 19) ? time : null;
}
