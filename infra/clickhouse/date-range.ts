/** The range of ClickHouse's `Date`; dates outside of it are moved to its ends. */
export const FIRST_DAY = '1970-01-01';
export const LAST_DAY = '2149-06-06';

/** The day of that range that is nearest to a day. */
export const inDateRange = (day: string): string =>
  day < FIRST_DAY ? FIRST_DAY : day > LAST_DAY ? LAST_DAY : day;
