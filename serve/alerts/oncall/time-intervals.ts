import type { Temporal } from 'temporal-polyfill';
import { z } from 'zod';
import { DAY_MS } from '../../../infra/days.ts';
import { timeZoneName, wallMilliseconds, wallTimeAt, type ZoneClock } from './first-instant.ts';

// Alertmanager's time intervals. Beyond them, an end at or before its start lies on the next day, and the interval
// belongs to the day on which it starts.

/** Alertmanager's weeks begin on Sunday. */
const WEEKDAYS = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];
const MONTHS = [
  'january',
  'february',
  'march',
  'april',
  'may',
  'june',
  'july',
  'august',
  'september',
  'october',
  'november',
  'december',
];
const RANGES_MAX = 10;
export const INTERVALS_MAX = 20;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** Both ends are inclusive. */
interface NumberRange {
  readonly begin: number;
  readonly end: number;
}

/** A text that is not a range. The message is shown to the caller. */
class RangeFault extends Error {}

function ends(text: string): readonly [string, string] {
  const [begin = '', end = begin, ...more] = text.trim().toLowerCase().split(':');
  if (more.length > 0) throw new RangeFault('Enter one value, or two with a colon between them.');
  return [begin.trim(), end.trim()];
}

function inOrder(range: NumberRange): NumberRange {
  if (range.begin > range.end) throw new RangeFault('The end must not be before the start.');
  return range;
}

function wholeNumber(text: string, what: string): number {
  if (!/^-?\d{1,4}$/.test(text)) throw new RangeFault(`Enter ${what}.`);
  return Number(text);
}

function weekdays(text: string): NumberRange {
  const [begin, end] = ends(text).map((name) => WEEKDAYS.indexOf(name)) as [number, number];
  if (begin < 0 || end < 0) throw new RangeFault('Enter a weekday such as monday, or monday:friday.');
  return inOrder({ begin, end });
}

function months(text: string): NumberRange {
  const what = 'a month such as january or 1, or a range such as may:august';
  const [begin, end] = ends(text).map((name) => MONTHS.indexOf(name) + 1 || wholeNumber(name, what)) as [
    number,
    number,
  ];
  if (Math.min(begin, end) < 1 || Math.max(begin, end) > 12) throw new RangeFault(`Enter ${what}.`);
  return inOrder({ begin, end });
}

function years(text: string): NumberRange {
  const [begin, end] = ends(text).map((year) => wholeNumber(year, 'a year, or 2027:2029')) as [
    number,
    number,
  ];
  return inOrder({ begin, end });
}

const SHORTEST_MONTH_DAYS = 28;

function daysOfMonth(text: string): NumberRange {
  const what = 'a day from 1 to 31, from -31 to -1 counted from the end of the month, or a range such as 1:5';
  const [begin, end] = ends(text).map((day) => wholeNumber(day, what)) as [number, number];
  const isDay = (day: number) => day !== 0 && Math.abs(day) <= 31;
  if (!isDay(begin) || !isDay(end)) throw new RangeFault(`Enter ${what}.`);
  if (begin < 0 && end > 0) throw new RangeFault('If the start is negative, the end must be negative.');
  const inShortest = (day: number) => (day < 0 ? SHORTEST_MONTH_DAYS + day : day);
  inOrder({ begin: inShortest(begin), end: inShortest(end) });
  return { begin, end };
}

const rangeText = (parse: (text: string) => NumberRange) =>
  z.union([z.string().max(40), z.int()]).superRefine((value, context) => {
    try {
      parse(String(value));
    } catch (error) {
      if (!(error instanceof RangeFault)) throw error;
      context.addIssue({ code: 'custom', message: error.message });
    }
  });
const rangeList = (parse: (text: string) => NumberRange) =>
  z.array(rangeText(parse)).min(1, 'Leave it out, or enter at least one value.').max(RANGES_MAX).optional();

const clockTime = (pattern: RegExp, message: string) => z.string().regex(pattern, message);

const fields = {
  times: z
    .array(
      z.strictObject({
        start_time: clockTime(/^([01]\d|2[0-3]):[0-5]\d$/, 'Enter a time from 00:00 to 23:59.'),
        end_time: clockTime(/^(([01]\d|2[0-3]):[0-5]\d|24:00)$/, 'Enter a time from 00:00 to 24:00.'),
      }),
    )
    .min(1, 'Leave it out, or enter at least one time.')
    .max(RANGES_MAX)
    .optional()
    .describe('the end is exclusive; an end at or before its start is on the next day'),
  weekdays: rangeList(weekdays).describe('such as monday:friday'),
  days_of_month: rangeList(daysOfMonth).describe('such as 1:5, or -3:-1 for the last three'),
  months: rangeList(months).describe('such as may:august, or 5:8'),
  years: rangeList(years).describe('such as 2027:2029'),
};

const onlyFields = <Fields extends z.core.$ZodLooseShape>(shape: Fields) =>
  z.strictObject(shape, {
    error: ({ code, keys }) =>
      code === 'unrecognized_keys'
        ? `Unknown field: ${(keys as string[]).join(', ')}. A time interval has ${Object.keys(shape).join(', ')}.`
        : undefined,
  });

/** One of Alertmanager's time intervals without `location`. */
export const timeIntervalSchema = onlyFields(fields).meta({ id: 'TimeInterval' });
export type TimeInterval = z.output<typeof timeIntervalSchema>;

/** Offsets and `Local` are refused. */
const location = z
  .string()
  .max(100)
  .superRefine((name, context) => {
    if (timeZoneName(name) !== null) return;
    const message = 'Enter a name of the IANA time zone database, such as Europe/Berlin.';
    context.addIssue({ code: 'custom', message });
  })
  .default('UTC')
  .describe('name in the IANA time zone database');

/** One of Alertmanager's time intervals. */
export const locatedIntervalSchema = onlyFields({ ...fields, location }).meta({ id: 'LocatedTimeInterval' });
export type LocatedInterval = z.output<typeof locatedIntervalSchema>;

/** A span of time; the end is exclusive. */
export interface Span {
  readonly from: number;
  readonly until: number;
}

/** The days of an interval, and the minutes of the day at which it begins and ends. */
interface DailyTimes {
  readonly has: (day: Temporal.PlainDate) => boolean;
  readonly times: readonly NumberRange[];
}

const minutesOf = (clock: string): number => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3));

function dailyTimes(interval: TimeInterval): DailyTimes {
  const parsed = (list: readonly (string | number)[] | undefined, parse: (text: string) => NumberRange) =>
    list?.map((value) => parse(String(value)));
  const within = (ranges: readonly NumberRange[] | undefined, value: number) =>
    ranges === undefined || ranges.some(({ begin, end }) => begin <= value && value <= end);
  const lists = {
    weekdays: parsed(interval.weekdays, weekdays),
    months: parsed(interval.months, months),
    years: parsed(interval.years, years),
    days: parsed(interval.days_of_month, daysOfMonth),
  };
  const times = (interval.times ?? [{ start_time: '00:00', end_time: '24:00' }]).map((time) => {
    const [begin, end] = [minutesOf(time.start_time), minutesOf(time.end_time)];
    return { begin, end: end > begin ? end : end + DAY_MINUTES };
  });
  return {
    has: (day) =>
      within(lists.weekdays, day.dayOfWeek % 7) &&
      within(lists.months, day.month) &&
      within(lists.years, day.year) &&
      (lists.days === undefined || lists.days.some((range) => isDayWithin(range, day))),
    times,
  };
}

/** Negative days count from the end of the month; days that the month lacks are cut off. */
function isDayWithin({ begin, end }: NumberRange, { day, daysInMonth }: Temporal.PlainDate): boolean {
  const fromStart = (day: number) => (day < 0 ? daysInMonth + day + 1 : day);
  return fromStart(begin) <= day && day <= fromStart(end);
}

/** An interval that starts on the day before may last until the end of this day. */
const DAYS_BEFORE = 2;

/** Spans covered by at least one interval, sorted and disjoint. */
export function* activeSpans(
  intervals: readonly TimeInterval[],
  clock: ZoneClock,
  { from, until }: Span,
): Generator<Span> {
  const daily = intervals.map(dailyTimes);
  let day = wallTimeAt(clock.wallTimeAt(from), 'UTC').toPlainDate().subtract({ days: DAYS_BEFORE });
  let midnight = wallMilliseconds(day.toPlainDateTime());
  let open: { from: number; until: number } | null = null;
  for (; clock.firstInstant(midnight) < until; midnight += DAY_MS, day = day.add({ days: 1 })) {
    const today = day;
    const spans = daily
      .filter(({ has }) => has(today))
      .flatMap(({ times }) =>
        times.map(({ begin, end }) => ({
          from: Math.max(from, clock.firstInstant(midnight + begin * MINUTE_MS)),
          until: Math.min(until, clock.firstInstant(midnight + end * MINUTE_MS)),
        })),
      )
      .filter((span) => span.from < span.until)
      .sort((a, b) => a.from - b.from);
    for (const span of spans) {
      if (open !== null && span.from <= open.until) open.until = Math.max(open.until, span.until);
      else {
        if (open !== null) yield open;
        open = { ...span };
      }
    }
  }
  if (open !== null) yield open;
}
