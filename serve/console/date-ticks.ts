/** Days, months and years below a chart, so far from each other that their labels do not touch. */
import { DAY_MS } from '../../infra/days.ts';
import type { Period } from './chart-state.ts';

export interface DateTick {
  /** In milliseconds. */
  readonly at: number;
  readonly label: string;
  /** The year, for a second line; empty below a tick of the same year as the one before. */
  readonly year: string;
}

/** 1970 began on a Thursday; weeks begin on Mondays. */
const MONDAY = 4;
const DAYS = { day: [1, 2, 7, 14], week: [7, 14], month: [] } as const satisfies Record<
  Period,
  readonly number[]
>;
const MONTHS = [1, 2, 3, 6] as const;
const YEARS = [1, 2, 5, 10, 25, 100] as const;

const DAY_FORMAT = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' });
const MONTH_FORMAT = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' });

/** Room for a label and the space to the next one. */
const DAY_PX = 64;
const MONTH_PX = 46;
const YEAR_PX = 52;

/** The closest ticks from `first` until `last` whose labels do not touch in so many pixels; months have none between them. */
export function dateTicks(first: number, last: number, width: number, per: Period): readonly DateTick[] {
  const span = Math.max(0, last - first) / DAY_MS;
  const room = (px: number) => Math.max(1, Math.floor(width / px));
  const closest = (steps: readonly number[], stepDays: number, px: number, every: typeof everyDays) =>
    steps
      // What is far too much is not even counted.
      .filter((step) => span / (step * stepDays) <= room(px) + 1)
      .map((step) => every(first, last, step))
      .find((moments) => moments.length <= room(px));
  const days = closest(DAYS[per], 1, DAY_PX, everyDays);
  if (days !== undefined) return labelled(days, dayLabel);
  const months = closest(MONTHS, 30, MONTH_PX, everyMonths);
  if (months !== undefined) return labelled(months, monthLabel);
  const years = closest(YEARS, 365, YEAR_PX, (from, until, step) => everyMonths(from, until, 12 * step));
  return (years ?? []).map((at) => ({ at, label: yearOf(at), year: '' }));
}

const dayLabel = (at: number) => DAY_FORMAT.format(at);
const monthLabel = (at: number) => MONTH_FORMAT.format(at);
const yearOf = (at: number) => String(new Date(at).getUTCFullYear());

function labelled(moments: readonly number[], label: (at: number) => string): DateTick[] {
  return moments.map((at, i) => {
    const before = moments[i - 1];
    const isSame = before !== undefined && yearOf(before) === yearOf(at);
    return { at, label: label(at), year: isSame ? '' : yearOf(at) };
  });
}

function everyDays(first: number, last: number, step: number): number[] {
  const place = Math.ceil((first / DAY_MS - (step === 1 ? 0 : MONDAY)) / step);
  const from = (place * step + (step === 1 ? 0 : MONDAY)) * DAY_MS;
  const moments: number[] = [];
  for (let at = from; at <= last; at += step * DAY_MS) moments.push(at);
  return moments;
}

function everyMonths(first: number, last: number, step: number): number[] {
  const begin = new Date(first);
  const month = begin.getUTCFullYear() * 12 + begin.getUTCMonth();
  const moments: number[] = [];
  for (let at = 0, i = Math.floor(month / step) * step; at <= last; i += step) {
    at = Date.UTC(Math.floor(i / 12), i % 12);
    if (at >= first && at <= last) moments.push(at);
  }
  return moments;
}
