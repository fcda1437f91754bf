import { Temporal } from 'temporal-polyfill';
import { describe, expect, test } from 'vitest';
import { firstInstant, timeZoneName } from '../../../../serve/alerts/oncall/first-instant.ts';
import { type RotationRevision, shiftsBetween } from '../../../../serve/alerts/oncall/on-call.ts';
import { madeRotation, madeSchedule, ms } from './made.ts';

/** Shifts of a day or two people in turn, as `30 Oct 07:00Z` and hours. */
function handoffs(timeZone: string, rotation: Partial<RotationRevision>, from: string, until: string) {
  const schedule = madeSchedule({ timeZone, rotations: [madeRotation(rotation)] });
  return shiftsBetween(schedule, ms(from), ms(until)).map((shift) => ({
    at: new Date(shift.from).toISOString().slice(0, 16),
    hours: (shift.until - shift.from) / 3_600_000,
    user: shift.users.join(),
  }));
}
const timesOf = (shifts: readonly { at: string }[]) => shifts.map(({ at }) => at);

describe('handoffs', () => {
  test('Berlin, weekly: the first turn lasts 167 hours', () => {
    const shifts = handoffs(
      'Europe/Berlin',
      { startsAt: '2027-03-22T09:00', unit: 'weeks' },
      '2027-03-01T00:00Z',
      '2027-04-12T07:00Z',
    );
    expect(timesOf(shifts)).toEqual(['2027-03-22T08:00', '2027-03-29T07:00', '2027-04-05T07:00']);
    expect(shifts[0]?.hours).toBe(167);
  });

  test('New York, daily at a time that is shown twice: the first counts, and the day has 25 hours', () => {
    const shifts = handoffs(
      'America/New_York',
      { startsAt: '2027-11-05T01:30', unit: 'days' },
      '2027-11-07T05:30Z',
      '2027-11-09T06:30Z',
    );
    expect(shifts).toEqual([
      { at: '2027-11-07T05:30', hours: 25, user: 'ann' },
      { at: '2027-11-08T06:30', hours: 24, user: 'bob' },
    ]);
  });

  test('New York, daily at a time that is skipped: the end of the gap counts, 23.5 hours on both sides', () => {
    const shifts = handoffs(
      'America/New_York',
      { startsAt: '2027-03-12T02:30', unit: 'days' },
      '2027-03-13T07:30Z',
      '2027-03-16T06:30Z',
    );
    expect(shifts.map(({ at, hours }) => [at, hours])).toEqual([
      ['2027-03-13T07:30', 23.5],
      ['2027-03-14T07:00', 23.5],
      ['2027-03-15T06:30', 24],
    ]);
  });

  test('London, 12 hours: the night lasts 13, and handoffs stay at 08:00 and 20:00', () => {
    const shifts = handoffs(
      'Europe/London',
      { startsAt: '2027-10-30T08:00', unit: 'hours', length: 12 },
      '2027-10-30T07:00Z',
      '2027-11-01T08:00Z',
    );
    expect(shifts.map(({ at, hours }) => [at, hours])).toEqual([
      ['2027-10-30T07:00', 12],
      ['2027-10-30T19:00', 13],
      ['2027-10-31T08:00', 12],
      ['2027-10-31T20:00', 12],
    ]);
  });

  test('Paris, monthly on the 31st: the last day of shorter months, and the 31st again', () => {
    const shifts = handoffs(
      'Europe/Paris',
      { startsAt: '2027-01-31T09:00', unit: 'months' },
      '2027-02-28T08:00Z',
      '2027-05-31T07:00Z',
    );
    expect(timesOf(shifts)).toEqual(['2027-02-28T08:00', '2027-03-31T07:00', '2027-04-30T07:00']);
  });

  test('Berlin, active at night: 7 hours in March, 9 in October', () => {
    const night = {
      startsAt: '2027-01-01T00:00',
      turns: [['ann']],
      activeTimes: [{ times: [{ start_time: '22:00', end_time: '06:00' }] }],
    };
    const march = handoffs('Europe/Berlin', night, '2027-03-27T12:00Z', '2027-03-28T12:00Z');
    expect(march).toEqual([{ at: '2027-03-27T21:00', hours: 7, user: 'ann' }]);
    const october = handoffs('Europe/Berlin', night, '2027-10-30T12:00Z', '2027-10-31T12:00Z');
    expect(october).toEqual([{ at: '2027-10-30T20:00', hours: 9, user: 'ann' }]);
  });

  test('New York, hourly: one turn has no length in March, one has two hours in November', () => {
    const turns = Array.from({ length: 24 }, (_, hour) => [`user ${hour}`]);
    const hourly = { unit: 'hours' as const, turns };
    const march = handoffs(
      'America/New_York',
      { ...hourly, startsAt: '2027-03-14T00:00' },
      '2027-03-14T05:00Z',
      '2027-03-14T09:00Z',
    );
    expect(march.map(({ at, user }) => [at, user])).toEqual([
      ['2027-03-14T05:00', 'user 0'],
      ['2027-03-14T06:00', 'user 1'],
      ['2027-03-14T07:00', 'user 3'],
      ['2027-03-14T08:00', 'user 4'],
    ]);
    const november = handoffs(
      'America/New_York',
      { ...hourly, startsAt: '2027-11-07T00:00' },
      '2027-11-07T04:00Z',
      '2027-11-07T08:00Z',
    );
    expect(november.map(({ hours, user }) => [user, hours])).toEqual([
      ['user 0', 1],
      ['user 1', 2],
      ['user 2', 1],
    ]);
  });
});

describe('first instants', () => {
  const at = (wall: string, timeZone: string) =>
    new Date(firstInstant(Temporal.PlainDateTime.from(wall), timeZone)).toISOString();

  test('a gap of half an hour on Lord Howe Island', () => {
    expect(at('2027-10-03T02:15', 'Australia/Lord_Howe')).toBe('2027-10-02T15:30:00.000Z');
  });

  test('a day that never was in Apia', () => {
    expect(at('2011-12-30T10:00', 'Pacific/Apia')).toBe('2011-12-30T10:00:00.000Z');
  });

  test('midnight that is skipped in Havana, Cairo and Santiago', () => {
    expect(at('2027-03-14T00:00', 'America/Havana')).toBe('2027-03-14T05:00:00.000Z');
    expect(at('2027-04-30T00:00', 'Africa/Cairo')).toBe('2027-04-29T22:00:00.000Z');
    expect(at('2027-09-05T00:00', 'America/Santiago')).toBe('2027-09-05T04:00:00.000Z');
  });

  test('zones are those of the database, in its spelling', () => {
    expect(timeZoneName('Europe/Berlin')).toBe('Europe/Berlin');
    expect(timeZoneName('europe/berlin')).toBe('Europe/Berlin');
    expect(timeZoneName('Asia/Kathmandu')).toBe('Asia/Kathmandu');
    expect(timeZoneName('UTC')).toBe('UTC');
    for (const text of [
      '+02:00',
      '-03',
      'Mars/Olympus',
      '',
      ' Europe/Berlin',
      '2027-01-01T00:00[UTC]',
      'Z',
    ]) {
      expect([text, timeZoneName(text)]).toEqual([text, null]);
    }
  });
});
