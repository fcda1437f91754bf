// Days are UTC days, written YYYY-MM-DD.

export const HOUR_MS = 3_600_000;
export const DAY_MS = 24 * HOUR_MS;

/** The day of a time in milliseconds since the epoch. */
export const isoDay = (time: number): string => new Date(time).toISOString().slice(0, 10);

export const dayAfter = (day: string): string => isoDay(Date.parse(day) + DAY_MS);
