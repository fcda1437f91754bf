import { describe, expect, test } from 'vitest';
import { ZoneClock } from '../../../../serve/alerts/oncall/first-instant.ts';
import {
  activeSpans,
  type TimeInterval,
  timeIntervalSchema,
} from '../../../../serve/alerts/oncall/time-intervals.ts';
import { ms } from './made.ts';

/** The stretches in UTC, as `2027-01-01T00:00 2027-01-02T00:00`. */
function spans(intervals: readonly TimeInterval[], from: string, until: string): string[] {
  const text = (at: number) => new Date(at).toISOString().slice(0, 16);
  const window = { from: ms(`${from}Z`), until: ms(`${until}Z`) };
  return [...activeSpans(intervals, new ZoneClock('UTC'), window)].map(
    (span) => `${text(span.from)} ${text(span.until)}`,
  );
}
const days = (interval: TimeInterval, from: string, until: string) =>
  spans([interval], `${from}T00:00`, `${until}T00:00`).map((text) => text.slice(5, 10));

describe('active times', () => {
  test('an interval without a condition is always on', () => {
    expect(spans([{}], '2027-01-01T08:00', '2027-03-01T09:00')).toEqual([
      '2027-01-01T08:00 2027-03-01T09:00',
    ]);
  });

  test('no interval is never on', () => {
    expect(spans([], '2027-01-01T00:00', '2027-02-01T00:00')).toEqual([]);
  });

  test('an end at or before the start is on the next day, and belongs to the day of the start', () => {
    const friday = { weekdays: ['friday'], times: [{ start_time: '22:00', end_time: '06:00' }] };
    expect(spans([friday], '2027-01-01T00:00', '2027-01-08T00:00')).toEqual([
      '2027-01-01T22:00 2027-01-02T06:00',
    ]);
    const whole = { weekdays: ['friday'], times: [{ start_time: '09:00', end_time: '09:00' }] };
    expect(spans([whole], '2027-01-01T00:00', '2027-01-08T00:00')).toEqual([
      '2027-01-01T09:00 2027-01-02T09:00',
    ]);
  });

  test('what began before the window is cut off at its start', () => {
    const night = { times: [{ start_time: '22:00', end_time: '06:00' }] };
    expect(spans([night], '2027-01-01T01:00', '2027-01-01T23:00')).toEqual([
      '2027-01-01T01:00 2027-01-01T06:00',
      '2027-01-01T22:00 2027-01-01T23:00',
    ]);
  });

  test('stretches that meet or overlap are one', () => {
    const meeting = [
      { times: [{ start_time: '12:00', end_time: '24:00' }] },
      { times: [{ start_time: '00:00', end_time: '08:00' }] },
      { weekdays: ['saturday'], times: [{ start_time: '07:00', end_time: '13:00' }] },
    ];
    expect(spans(meeting, '2027-01-01T10:00', '2027-01-03T10:00')).toEqual([
      '2027-01-01T12:00 2027-01-03T08:00',
    ]);
  });

  test('weekdays, days of the month, months and years', () => {
    expect(days({ weekdays: ['Sunday', 'tuesday:thursday'] }, '2027-01-01', '2027-01-11')).toEqual([
      '01-03',
      '01-05',
      '01-10',
    ]);
    expect(days({ days_of_month: [1, '-1'] }, '2027-01-02', '2027-04-30')).toEqual([
      '01-31',
      '02-28',
      '03-31',
    ]);
    expect(days({ days_of_month: ['31'] }, '2027-01-01', '2027-06-01')).toEqual(['01-31', '03-31', '05-31']);
    expect(days({ days_of_month: ['-31:-28'] }, '2027-02-01', '2027-03-31')).toEqual(['02-01', '03-01']);
    expect(days({ months: ['february', '4:5', 'december'] }, '2027-01-01', '2028-01-01')).toEqual([
      '02-01',
      '04-01',
      '12-01',
    ]);
    expect(days({ years: [2028] }, '2027-01-01', '2030-01-01')).toEqual(['01-01']);
  });
});

describe('the grammar', () => {
  const faultOf = (given: unknown) => timeIntervalSchema.safeParse(given).error?.issues[0];

  test.each([
    { times: [{ start_time: '00:00', end_time: '24:00' }] },
    { weekdays: ['monday:friday', 'Sunday'], months: ['january:3', 12], years: ['2027:2030', 2032] },
    { days_of_month: ['1:5', '-3:-1', '15:-1', 31] },
    {},
  ])('%j is taken', (given) => {
    expect(timeIntervalSchema.parse(given)).toEqual(given);
  });

  test.each([
    [{ location: 'Europe/Berlin' }, 'Unknown field: location. A time interval has times, weekdays'],
    [{ times: [] }, 'Leave it out'],
    [{ times: [{ start_time: '24:00', end_time: '06:00' }] }, '00:00 to 23:59'],
    [{ times: [{ start_time: '9:00', end_time: '10:00' }] }, '00:00 to 23:59'],
    [{ times: [{ start_time: '09:00', end_time: '24:01' }] }, '00:00 to 24:00'],
    [{ weekdays: ['mon'] }, 'a weekday such as monday'],
    [{ weekdays: ['saturday:sunday'] }, 'end must not be before the start'],
    [{ weekdays: ['monday:tuesday:friday'] }, 'a colon between them'],
    [{ days_of_month: [0] }, 'a day from 1 to 31'],
    [{ days_of_month: ['32'] }, 'a day from 1 to 31'],
    [{ days_of_month: ['-3:5'] }, 'the end must be negative'],
    [{ days_of_month: ['10:5'] }, 'end must not be before the start'],
    [{ months: ['13'] }, 'a month such as january'],
    [{ months: ['may:april'] }, 'end must not be before the start'],
    [{ years: ['2030:2027'] }, 'end must not be before the start'],
    [{ years: ['now'] }, 'a year'],
  ])('%j is refused', (given, message) => {
    expect(faultOf(given)?.message).toContain(message);
  });
});
