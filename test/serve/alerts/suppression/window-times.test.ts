import { describe, expect, test } from 'vitest';
import { locatedIntervalSchema } from '../../../../serve/alerts/oncall/time-intervals.ts';
import { nextOccurrences, type WindowTimes } from '../../../../serve/alerts/suppression/window-times.ts';
import { ms } from '../oncall/made.ts';

const windowOf = (intervals: readonly object[], bounds: Partial<WindowTimes> = {}): WindowTimes => ({
  time_intervals: intervals.map((interval) => locatedIntervalSchema.parse(interval)),
  from_ms: 0,
  until_ms: 0,
  ...bounds,
});

/** The next stretches in UTC, as `2027-01-01T00:00 2027-01-02T00:00`; an end that is not known as `-`. */
async function next(window: WindowTimes, from: string, count = 10): Promise<string[]> {
  const text = (at: number) => (at === 0 ? '-' : new Date(at).toISOString().slice(0, 16));
  const spans = await nextOccurrences(window, ms(`${from}Z`), count);
  return spans.map((span) => `${text(span.from)} ${text(span.until)}`);
}

describe('the next occurrences', () => {
  test('of a window without intervals are its bounds', async () => {
    const bounds = { from_ms: ms('2027-03-01T00:00Z'), until_ms: ms('2027-03-02T00:00Z') };
    expect(await next(windowOf([], bounds), '2027-01-01T00:00')).toEqual([
      '2027-03-01T00:00 2027-03-02T00:00',
    ]);
    expect(await next(windowOf([], bounds), '2027-03-01T12:00')).toEqual([
      '2027-03-01T12:00 2027-03-02T00:00',
    ]);
    expect(await next(windowOf([], bounds), '2027-03-02T00:00')).toEqual([]);
    expect(await next(windowOf([]), '2027-03-01T00:00')).toEqual(['2027-03-01T00:00 -']);
    expect(await next(windowOf([{}]), '2027-03-01T00:00')).toEqual(['2027-03-01T00:00 -']);
  });

  test('follow the clocks of their zones', async () => {
    const nights = windowOf([
      {
        weekdays: ['saturday'],
        times: [{ start_time: '22:00', end_time: '06:00' }],
        location: 'Europe/Berlin',
      },
    ]);
    expect(await next(nights, '2027-03-25T00:00', 2)).toEqual([
      '2027-03-27T21:00 2027-03-28T04:00',
      '2027-04-03T20:00 2027-04-04T04:00',
    ]);
    const zones = windowOf([
      { times: [{ start_time: '00:00', end_time: '08:00' }] },
      { times: [{ start_time: '08:00', end_time: '12:00' }], location: 'Asia/Tokyo' },
      { times: [{ start_time: '04:00', end_time: '05:00' }], location: 'America/New_York' },
    ]);
    expect(await next(zones, '2027-01-01T01:00', 3)).toEqual([
      '2027-01-01T01:00 2027-01-01T08:00',
      '2027-01-01T09:00 2027-01-01T10:00',
      '2027-01-01T23:00 2027-01-02T08:00',
    ]);
  });

  test('are ten, also of what happens once a year, and are longer than the part that is searched at once', async () => {
    const yearly = windowOf([{ months: ['december'], days_of_month: ['24:26'] }]);
    const found = await next(yearly, '2027-01-01T00:00');
    expect(found).toHaveLength(10);
    expect(found.at(-1)).toBe('2036-12-24T00:00 2036-12-27T00:00');
    const leapDays = await next(windowOf([{ months: [2], days_of_month: [29] }]), '2027-01-01T00:00');
    expect(leapDays.map((text) => text.slice(0, 10))).toEqual(['2028-02-29', '2032-02-29', '2036-02-29']);
    const half = windowOf([{ months: ['january:june'] }]);
    expect(await next(half, '2027-02-01T00:00', 2)).toEqual([
      '2027-02-01T00:00 2027-07-01T00:00',
      '2028-01-01T00:00 2028-07-01T00:00',
    ]);
    expect(await next(windowOf([{ years: [2026] }]), '2027-01-01T00:00')).toEqual([]);
  });
});

describe('the location of an interval', () => {
  test.each(['Local', '+02:00', 'Mars/Base', ''])('%j is refused', (location) => {
    const { error } = locatedIntervalSchema.safeParse({ location });
    expect(error?.issues).toMatchObject([
      { path: ['location'], message: expect.stringContaining('Europe/Berlin') },
    ]);
  });

  test('is UTC by default, and other fields are refused by name', () => {
    expect(locatedIntervalSchema.parse({})).toEqual({ location: 'UTC' });
    expect(locatedIntervalSchema.parse({ location: 'Asia/Tokyo' })).toEqual({ location: 'Asia/Tokyo' });
    expect(locatedIntervalSchema.safeParse({ zone: 'UTC' }).error?.issues[0]?.message).toContain(
      'Unknown field: zone. A time interval has times, weekdays, days_of_month, months, years, location',
    );
  });
});
