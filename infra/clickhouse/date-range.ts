import { dayAfter } from '../days.ts';

/** The range of ClickHouse's `Date`; dates outside of it are clamped. */
export const FIRST_DAY = '1970-01-01';
export const LAST_DAY = '2149-06-06';

/** Clamps a day to that range. */
export const clampDay = (day: string): string =>
  day < FIRST_DAY ? FIRST_DAY : day > LAST_DAY ? LAST_DAY : day;

/** The exclusive end of a range of days with this last day. */
export const endAfter = (lastDay: string): string => (lastDay < LAST_DAY ? dayAfter(lastDay) : LAST_DAY);
