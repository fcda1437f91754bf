import { clampDay } from '../../../infra/clickhouse/date-range.ts';
import { DAY_MS, isoDay } from '../../../infra/days.ts';
import type { Period, SeriesAnswer } from './chart-state.ts';

/** Consecutive days, weeks or months in UTC. Weeks start on Monday. */
export interface Periods {
  readonly per: Period;
  /** First day of the first period. */
  readonly start: string;
  readonly count: number;
}

/** 1970-01-05, the first Monday. */
const MONDAY_MS = 4 * DAY_MS;
const WEEK_MS = 7 * DAY_MS;

const timeOf = (day: string): number => Date.parse(`${day}T00:00:00Z`);

export const addDays = (day: string, days: number): string => isoDay(timeOf(day) + days * DAY_MS);

/** The periods of the days from `from` to `until`, both inclusive, within the date range of ClickHouse. */
export function periodsOf(per: Period, from: string, until: string): Periods {
  const start = periodStart(per, clampDay(from));
  return { per, start, count: Math.max(0, distance(per, start, clampDay(until)) + 1) };
}

/** First day of the period of a day. */
function periodStart(per: Period, day: string): string {
  if (per === 'day') return day;
  if (per === 'month') return `${day.slice(0, 8)}01`;
  const time = timeOf(day);
  return isoDay(time - ((((time - MONDAY_MS) % WEEK_MS) + WEEK_MS) % WEEK_MS));
}

/** Number of periods from the start of a period to a day. */
function distance(per: Period, start: string, day: string): number {
  if (per === 'month') {
    const months = (text: string) => Number(text.slice(0, 4)) * 12 + Number(text.slice(5, 7));
    return months(day) - months(start);
  }
  return Math.floor((timeOf(day) - timeOf(start)) / (per === 'day' ? DAY_MS : WEEK_MS));
}

/** Index of the period of a day. It may be negative or beyond the last one. */
export const placeOf = ({ per, start }: Periods, day: string): number => distance(per, start, day);

/** First day of the period with this index. */
export function dayAt({ per, start }: Periods, place: number): string {
  if (per !== 'month') return addDays(start, place * (per === 'day' ? 1 : 7));
  const months = Number(start.slice(0, 4)) * 12 + Number(start.slice(5, 7)) - 1 + place;
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}-01`;
}

/** The periods of an answer. */
export const periodsIn = ({ per, start, periods }: SeriesAnswer): Periods => ({ per, start, count: periods });
