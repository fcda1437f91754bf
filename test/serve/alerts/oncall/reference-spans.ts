import type { Span } from '../../../../serve/alerts/oncall/time-intervals.ts';
import { ms } from './made.ts';

const DAY = 1440 * 60_000;
const YEARS: Span = { from: ms('2027-01-01T00:00Z'), until: ms('2029-01-01T00:00Z') };

/** ONCALL_REFERENCE=all compares two whole years; otherwise the days around each change of the clock. */
export const isWhole = process.env.ONCALL_REFERENCE === 'all';

/** Days around the changes of a clock, and some without a change. */
export function referenceSpans(timeZone: string): Span[] {
  if (isWhole) return [YEARS];
  const offset = (at: number) =>
    new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' }).format(at).split(' ')[1];
  const changes: number[] = [];
  for (let at = YEARS.from; at < YEARS.until && changes.length < 3; at += DAY)
    if (offset(at) !== offset(at + DAY)) changes.push(at);
  return [ms('2028-02-27T00:00Z'), ...changes].map((at) => ({ from: at - 2 * DAY, until: at + 4 * DAY }));
}
