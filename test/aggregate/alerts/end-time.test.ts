import { describe, expect, test } from 'vitest';
import { parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import { HEAD, mapped, RULES, read } from './read-generic.ts';

describe('the end of a generic payload', () => {
  test.each([
    ['2026-11-21T04:00:00Z', '2026-11-21T04:00:00.000Z'],
    ['20261121T040000+0100', '2026-11-21T03:00:00.000Z'],
    ['2026-11-21', '2026-11-21T00:00:00.000Z'],
    ['Sat, 21 Nov 2026 04:00:00 GMT', '2026-11-21T04:00:00.000Z'],
    [1_795_233_600, '2026-11-21T04:00:00.000Z'],
    [1_795_233_600.25, '2026-11-21T04:00:00.250Z'],
    [1_795_233_600_123, '2026-11-21T04:00:00.123Z'],
    [1_795_233_600_123_456, '2026-11-21T04:00:00.123Z'],
    ['1795233600', '2026-11-21T04:00:00.000Z'],
    [' 1795233600.25 ', '2026-11-21T04:00:00.250Z'],
    ['1795233600123', '2026-11-21T04:00:00.123Z'],
    ['1795233600123456', '2026-11-21T04:00:00.123Z'],
    ['1795233600123456789', '2026-11-21T04:00:00.123Z'],
  ])('an end of %j resolves, mapped or not', (end, expected) => {
    const ended = { effect: 'resolve', hasUnreadEnd: false, endedMs: Date.parse(expected) };
    expect(read({ end_time: end })).toMatchObject(ended);
    expect(mapped({ event: { done: end } }, { end_time: ['event', 'done'] })).toMatchObject(ended);
  });

  test.each([
    ['1795233600123456789', '2026-11-21T04:00:00.123Z'],
    ['1.7952336e9', '2026-11-21T04:00:00.000Z'],
    ['17952336E2', '2026-11-21T04:00:00.000Z'],
  ])('an end written as the number %s resolves', (number, expected) => {
    const [item] = parseDelivery(HEAD, Buffer.from(`{"end_time":${number}}`), RULES).items;
    expect(item).toMatchObject({ effect: 'resolve', hasUnreadEnd: false, endedMs: Date.parse(expected) });
  });

  test.each([
    'soon',
    'day 5',
    '21',
    0,
    5,
    -1,
    '20261121',
    '2026-13-99',
    '2026-02-29T00:00:00Z',
    '1969-12-31T23:59:59Z',
    '+010000-01-01T00:00:00Z',
    1e21,
    true,
    false,
    {},
    { at: 1_795_233_600 },
    ['2026-11-21'],
    'order 0001',
  ])('an end of %j cannot be read, and resolves when it is received', (end) => {
    const ended = { effect: 'resolve', hasUnreadEnd: true, endedMs: 0 };
    expect(read({ end_time: end })).toMatchObject(ended);
    expect(mapped({ done: end }, { end_time: ['done'] })).toMatchObject(ended);
  });

  test.each([
    undefined,
    null,
    '',
    ' \n',
    [],
    ['', null],
    '0001-01-01T00:00:00Z',
    ' 0001-01-01 ',
    '0001-01-01T00:00:00+00:00',
    '0001-01-01 00:00:00.000 UTC',
    '00010101T000000Z',
    '0001/01/01',
    '1/1/0001 12:00:00 AM',
    'Mon, 01 Jan 0001 00:00:00 GMT',
    -62_135_596_800,
    '-62135596800',
    -62_135_596_800_000,
    '-6795364578871345152',
  ])('an end of %j is none, so the event fires', (end) => {
    const fires = { effect: 'fire', hasUnreadEnd: false, endedMs: 0 };
    expect(read({ end_time: end })).toMatchObject(fires);
    expect(mapped({ done: end }, { end_time: ['done'] })).toMatchObject(fires);
  });

  test('an end whose mapped value is blank is the one under its usual name', () => {
    const end = { done: null, end_time: '2026-11-21T04:00:00Z' };
    expect(mapped(end, { end_time: ['done'] }).endedMs).toBe(Date.parse(end.end_time));
  });
});
