import { describe, expect, test } from 'vitest';
import { type DayChart, dayChart, durationText } from '../../../../serve/alerts/pages/day-chart.ts';

const chartOf = (values: readonly (number | null)[], more: Partial<DayChart> = {}) =>
  dayChart({
    title: 'Alerts <b>',
    colour: 0,
    unit: 'count',
    empty: 'No alerts',
    days: values.map((value, i) => ({
      date: new Date(Date.UTC(2026, 9, 1 + i)).toISOString().slice(0, 10),
      value,
    })),
    ...more,
  }).text;

const ticksOf = (text: string) => [...text.matchAll(/text-anchor="end">([^<]*)</g)].map(([, tick]) => tick);

describe('a chart of days', () => {
  test('has a column for each value, also for zero, and none for a day without one', () => {
    const text = chartOf([3, 0, null, 1]);
    expect(text.match(/<rect/g)).toHaveLength(3);
    expect(text).toContain('<title>1 Oct: 3</title>');
    expect(text).toContain('<title>2 Oct: 0</title>');
    expect(text).toContain('aria-label="Alerts &#60;b&#62; by day, at most 3"');
  });

  test('says what is missing where there is no value at all', () => {
    expect(chartOf([])).toContain('No alerts');
    expect(chartOf([null, null])).not.toContain('<svg');
  });

  test.each([
    [[0], ['0', '1']],
    [[1], ['0', '1']],
    [[7], ['0', '2', '4', '6', '8']],
    [[2_500_000], ['0', '1,000,000', '2,000,000', '3,000,000']],
  ])('marks counts %j by whole numbers', (values, ticks) => {
    expect(ticksOf(chartOf(values))).toEqual(ticks);
  });

  test.each([
    [[0.4], ['0 s', '1 s']],
    [[18], ['0 s', '5 s', '10 s', '15 s', '20 s']],
    [[5000], ['0 s', '30 min', '1 h', '1.5 h']],
    [[86_400 * 20], ['0 s', '7 d', '14 d', '21 d']],
  ])('marks times of %j seconds in units of people', (values, ticks) => {
    expect(ticksOf(chartOf(values, { unit: 'seconds' }))).toEqual(ticks);
  });

  test('names the last day, and no two dates so near that they would collide', () => {
    const dates = [...chartOf(Array(31).fill(1)).matchAll(/x="([\d.]+)"[^>]*text-anchor="middle">([^<]*)</g)];
    expect(dates.at(-1)?.[2]).toBe('31 Oct');
    const places = dates.map(([, x]) => Number(x));
    expect(Math.min(...places.slice(1).map((x, i) => x - (places[i] ?? 0)))).toBeGreaterThan(60);
  });

  test('writes a time in its largest unit', () => {
    expect([0, 59, 60, 90, 3600, 5400, 86_400, 1_000_000].map(durationText)).toEqual([
      '0 s',
      '59 s',
      '1 min',
      '1.5 min',
      '1 h',
      '1.5 h',
      '1 d',
      '12 d',
    ]);
  });
});
