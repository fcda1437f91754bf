import { describe, expect, test } from 'vitest';
import { boardOf, stretchesOf } from '../../../../serve/alerts/pages/on-call-board.ts';
import { barRows, shiftBars } from '../../../../serve/alerts/pages/shift-bars.ts';
import { ZoneTimes } from '../../../../serve/alerts/pages/zone-times.ts';

const HOUR = 3_600_000;
const BERLIN = new ZoneTimes('Europe/Berlin');
const shift = (from: number, until: number, ...users: string[]) => ({ from, until, users });
const at = (text: string) => Date.parse(text);

describe('a board', () => {
  const shifts = [
    shift(0, 10, 'ann'),
    shift(10, 20, 'ann'),
    shift(20, 30, 'ann', 'bob'),
    shift(40, 50, 'bob'),
  ];

  test('knows who is on call until when, over handoffs to oneself, and who is next', () => {
    const { current, next, gaps, mine } = boardOf(shifts, { from: 5, until: 60 }, 'bob');
    expect(current).toEqual(shift(0, 20, 'ann'));
    expect(next).toEqual(shift(20, 30, 'ann', 'bob'));
    expect(gaps).toEqual([
      { from: 30, until: 40 },
      { from: 50, until: 60 },
    ]);
    expect(mine).toEqual([
      { from: 20, until: 30 },
      { from: 40, until: 50 },
    ]);
    expect(stretchesOf(shifts, 'ann')).toEqual([{ from: 0, until: 30 }]);
  });

  test('knows that nobody is on call', () => {
    const empty = { current: null, next: null, mine: [], until: 60 };
    expect(boardOf([], { from: 35, until: 60 }, 'ann')).toEqual({
      ...empty,
      gaps: [{ from: 35, until: 60 }],
    });
    const next = shift(40, 50, 'bob');
    expect(boardOf([next], { from: 35, until: 50 }, 'ann')).toEqual({
      ...{ ...empty, next, until: 50 },
      gaps: [{ from: 35, until: 40 }],
    });
  });
});

describe('days of a zone', () => {
  test.each([
    ['Europe/Berlin', '2027-03-27T23:00Z', '2027-03-29T22:00Z', ['2027-03-27T23:00Z', '2027-03-28T22:00Z']],
    // Its days begin an hour late where the clock skips midnight.
    [
      'America/Santiago',
      '2027-09-04T12:00Z',
      '2027-09-06T12:00Z',
      ['2027-09-05T04:00Z', '2027-09-06T03:00Z'],
    ],
    // 30 December 2011 never was.
    ['Pacific/Apia', '2011-12-29T10:00Z', '2011-12-31T10:00Z', ['2011-12-29T10:00Z', '2011-12-30T10:00Z']],
  ])('%s', (zone, from, until, starts) => {
    expect(new ZoneTimes(zone).days(at(from), at(until))).toEqual(starts.map(at));
  });

  test('a date that is none is today', () => {
    const now = at('2027-03-22T23:30Z');
    const dates = ['2027-02-30', 'tomorrow', '', undefined, '2027-04-01'];
    expect(dates.map((text) => String(BERLIN.dateOf(text, now)))).toEqual([
      ...Array(4).fill('2027-03-23'),
      '2027-04-01',
    ]);
    expect(BERLIN.input(now)).toBe('2027-03-23T00:30');
  });
});

describe('bars', () => {
  const from = at('2027-03-21T23:00Z');
  const until = at('2027-04-04T22:00Z');
  const shifts = [
    shift(from - 9 * HOUR, from + 10 * HOUR, 'bob'),
    shift(from + 10 * HOUR, from + 100 * HOUR, 'ann', '<eve>'),
    shift(from + 150 * HOUR, until + HOUR, 'ann'),
  ];
  const gaps = [{ from: from + 100 * HOUR, until: from + 150 * HOUR }];

  test('are rows in the order of the people, with nobody last', () => {
    expect(barRows(shifts, gaps, ['ann', 'carl', 'bob']).map(({ user, colour }) => [user, colour])).toEqual([
      ['ann', 0],
      ['bob', 2],
      ['<eve>', 3],
      ['', 0],
    ]);
    expect(barRows([], [], ['ann'])).toEqual([]);
  });

  test('lie at shares of the time, cut off at its ends', () => {
    const rows = barRows(shifts, gaps, ['ann', 'bob']);
    const drawing = {
      from,
      until,
      rows,
      now: from + 24 * HOUR,
      nameOf: (user: string) => user,
      times: BERLIN,
    };
    const { text } = shiftBars({ ...drawing, reader: null });
    const total = until - from;
    expect(total).toBe((14 * 24 - 1) * HOUR);
    const shareOf = (hours: number) => `${((100 * hours * HOUR) / total).toFixed(3)}%`;
    const rects = [...text.matchAll(/<rect x="([^"]*)" width="([^"]*)"/g)].map(([, x, width]) => [x, width]);
    expect(rects).toEqual([
      [shareOf(10), shareOf(90)],
      [shareOf(150), shareOf(335 - 150)],
      ['0.000%', shareOf(10)],
      [shareOf(10), shareOf(90)],
      [shareOf(100), shareOf(50)],
    ]);
    expect(text.match(/class="day"/g)).toHaveLength(14);
    expect(text).toContain(`class="now" x1="${shareOf(24)}"`);
    expect(text).toContain('&#60;eve&#62;');
    expect(text).not.toContain('<eve>');
    const both = shiftBars({ ...drawing, reader: new ZoneTimes('Asia/Tokyo') }).text;
    expect(both.match(/class="weekday"/g)).toHaveLength(28);
  });
});
