import { describe, expect, it } from 'vitest';
import { isoDay } from '../../../infra/days.ts';
import {
  type ChartState,
  DEFAULT_STATE,
  type SeriesAnswer,
  type SeriesData,
} from '../../../serve/console/model/chart-state.ts';
import { drawingOf, periodEnd, periodName } from '../../../serve/console/model/drawing.ts';
import { legendValue, summaryOf } from '../../../serve/console/model/summary.ts';
import { extentOf } from '../../../serve/console/model/value-axes.ts';

function series(values: SeriesData['values'], more: Partial<SeriesData> = {}): SeriesData {
  const chain = more.chain ?? 'moonbeam';
  return {
    id: `m.c@polkadot/${chain}`,
    title: chain,
    relay_chain: 'polkadot',
    chain,
    parts: [],
    unit: 'count',
    token: null,
    values,
    gaps: [],
    ...more,
  };
}

function answer(all: readonly SeriesData[], more: Partial<SeriesAnswer> = {}): SeriesAnswer {
  const periods = all[0]?.values.length ?? 0;
  return { per: 'day', start: '2026-01-01', periods, provisional_from: null, series: all, ...more };
}

const draw = (of: SeriesAnswer, state: Partial<ChartState> = {}, hidden: readonly string[] = []) =>
  drawingOf(of, { ...DEFAULT_STATE, ...state }, new Set(hidden));
const heights = (drawing: ReturnType<typeof draw>) => drawing.series.map((one) => one.heights);

const two = answer([series([1, null, 3], { chain: 'a' }), series([3, 4, null], { chain: 'b' })]);

describe('what a chart draws', () => {
  it('is the values of an answer by their periods', () => {
    const drawing = draw(two);
    expect(heights(drawing)).toEqual([
      [1, null, 3],
      [3, 4, null],
    ]);
    expect(drawing.times.map((at) => periodName(at, 'day'))).toEqual([
      '1 Jan 2026',
      '2 Jan 2026',
      '3 Jan 2026',
    ]);
    expect(drawing.axes).toEqual([{ unit: 'count', token: null }]);
  });

  it('stacks what is switched on', () => {
    expect(heights(draw(two, { style: 'stacked' }, ['m.c@polkadot/b']))).toEqual([[1, null, 3]]);
    expect(heights(draw(two, { style: 'stacked' }, ['m.c@polkadot/a']))).toEqual([[3, 4, null]]);
  });

  it('has a gap where a part of a sum is not known, but not before a series begins', () => {
    const late = series([null, null, 5, 6], { chain: 'late' });
    const whole = series([1, 2, 3, 4], { chain: 'whole' });
    const holed = series([1, null, 1, null], { chain: 'holed' });
    const drawing = draw(answer([whole, late, holed, { ...whole, chain: 'top' }]), { style: 'stacked' });
    expect(heights(drawing)).toEqual([
      [1, 2, 3, 4],
      [null, null, 8, 10],
      [2, null, 9, null],
      [3, null, 12, null],
    ]);
    expect(drawing.notes).toEqual(['Sums are not drawn for periods in which a series has no value.']);
    // Days of a gap are not known, also before the first value of the range.
    const gone = draw(answer([{ ...late, gaps: [[0, 0]] }, whole]), { style: 'stacked' });
    expect(heights(gone)[1]).toEqual([null, 2, 8, 10]);
    expect(draw(answer([late, whole]), { style: 'share' }).notes).toEqual([]);
  });

  it('makes shares of a sum, on top of each other', () => {
    const drawing = draw(two, { style: 'share' });
    expect(drawing.series.map(({ values }) => values)).toEqual([
      [0.25, null, null],
      [0.75, null, null],
    ]);
    expect(heights(drawing)[1]).toEqual([1, null, null]);
    expect(drawing.axes).toEqual([{ unit: 'ratio', token: null }]);
  });

  it('divides by the first value that is not zero', () => {
    expect(heights(draw(answer([series([null, 0, 4, 6])]), { isIndexed: true }))).toEqual([
      [null, 0, 100, 150],
    ]);
  });

  it('means the seven days that end with each, where the range holds them', () => {
    const values = [1, 2, 3, null, 5, 6, 7, 8, null];
    expect(heights(draw(answer([series(values)]), { isSmoothed: true }))[0]).toEqual([
      ...Array(6).fill(null),
      4,
      31 / 6,
      null,
    ]);
    const months = draw(answer([series(values)], { per: 'month' }), { isSmoothed: true });
    expect(heights(months)[0]).toEqual(values);
    expect(months.notes).toEqual(['The 7-day mean is available for daily values only.']);
  });

  it('has no zero and nothing below it on a logarithmic axis', () => {
    expect(heights(draw(answer([series([-1, 0, 5, null])]), { isLogarithmic: true }))).toEqual([
      [null, null, 5, null],
    ]);
  });

  it('has two axes for two units, and says what a third one would need', () => {
    const mixed = answer([
      series([1], { chain: 'a' }),
      series([2], { chain: 'b', unit: 'native', token: 'DOT' }),
      series([3], { chain: 'c', unit: 'ratio' }),
    ]);
    const drawing = draw(mixed, { style: 'stacked' });
    expect(drawing.axes).toEqual([
      { unit: 'count', token: null },
      { unit: 'native', token: 'DOT' },
    ]);
    expect(drawing.series.map(({ axis }) => axis)).toEqual([0, 1]);
    expect(drawing.notes.join(' ')).toMatch(/Not drawn.*: c\. .*cannot be stacked/);
    expect(draw(mixed, {}, ['m.c@polkadot/a']).series.map(({ data }) => data.chain)).toEqual(['b', 'c']);
    expect(draw(mixed, { isIndexed: true }).series.map(({ axis }) => axis)).toEqual([0, 0, 0]);
  });

  it('never stacks tokens of different chains', () => {
    const tokens = answer([
      series([1], { chain: 'a', unit: 'native', token: 'DOT' }),
      series([2], { chain: 'b', unit: 'native', token: 'GLMR' }),
    ]);
    expect(draw(tokens, { style: 'share' }).style).toBe('lines');
    expect(draw(tokens).axes).toEqual([{ unit: 'native', token: null }]);
  });

  it('joins gaps, and knows the first period that is not over', () => {
    const gaps = (ranges: SeriesData['gaps'], chain: string) =>
      series([1, 2, 3, 4, 5, 6], { gaps: ranges, chain });
    const drawing = draw(
      answer(
        [
          gaps([[0, 1]], 'a'),
          gaps(
            [
              [1, 2],
              [5, 9],
            ],
            'b',
          ),
          gaps([[7, 8]], 'c'),
        ],
        {
          provisional_from: '2026-01-06',
        },
      ),
    );
    expect(drawing.gaps).toEqual([
      [0, 2],
      [5, 5],
    ]);
    expect(drawing.provisional).toBe(5);
    expect(draw(answer([series([1])], { provisional_from: '2031-01-01' })).provisional).toBe(1);
  });

  it('survives huge numbers and no periods at all', () => {
    const huge = answer([series([1e308, -1e308], { chain: 'a' }), series([1e308, 1], { chain: 'b' })]);
    expect(heights(draw(huge, { style: 'stacked' }))[1]).toEqual([null, -1e308 + 1]);
    expect(draw(answer([])).times).toEqual([]);
    expect(draw(answer([series([])]), { style: 'share' }).series[0]?.heights).toEqual([]);
  });
});

describe('the lowest and highest value of an axis', () => {
  it.each([
    [0, 0, 'lines', 0, 1],
    [5, 5, 'lines', 0, 10],
    [-5, -5, 'lines', -10, 0],
    [100, 1000, 'lines', 0, 1036 + 4],
    [90, 100, 'stacked', 0, 104],
    [3, 9, 'share', 0, 1],
  ] as const)('of %s to %s as %s are %s and %s', (low, high, style, from, until) => {
    expect(extentOf(low, high, style)).toEqual([from, until]);
  });

  it('leave zero out where it would press a line to the edge', () => {
    expect(extentOf(90, 100, 'lines')).toEqual([89.4, 100.6]);
  });
});

describe('periods', () => {
  const named = (more: Partial<SeriesAnswer>) => {
    const of = answer([series([1, 2, 3, 4])], more);
    return draw(of).times.map((at) => periodName(at, of.per));
  };

  it('follow each other by the calendar and have names', () => {
    expect(named({ per: 'month', start: '2025-11-01' })[3]).toBe('February 2026');
    expect(named({ per: 'week', start: '2025-12-29' })[1]).toBe('Week from 5 Jan 2026');
  });

  it('end before the next one begins', () => {
    const of = answer([series([1, 2])], { per: 'month', start: '2024-01-01' });
    expect(isoDay(periodEnd(of, 1))).toBe('2024-02-29');
  });
});

describe('the value beside the name of a series', () => {
  const of = (values: (number | null)[], at: number | null = null) =>
    legendValue(
      draw(answer([series(values, { chain: 'a' })], { provisional_from: '2026-01-03' })),
      'm.c@polkadot/a',
      at,
    );

  it('is that of the newest day that is over, or of the crosshair', () => {
    expect([of([5, 7, 2]), of([5, null, 2]), of([null, null, 2]), of([5, 7, 2], 2)]).toEqual([
      '7',
      '5',
      '2',
      '2',
    ]);
    expect(of([null, null, null])).toBe('–');
  });
});

describe('the summary of a series', () => {
  it('names its ends, its extremes and what is missing', () => {
    const drawing = draw(answer([series([2, null, 9, 4], { unit: 'native', token: 'DOT' })]));
    expect(drawing.series.map((one) => summaryOf(one, drawing).replaceAll('\u00a0', ' '))).toEqual([
      'moonbeam: first 2 DOT (1 Jan 2026), last 4 DOT (4 Jan 2026), lowest 2 DOT (1 Jan 2026), highest 9 DOT (3 Jan 2026). 1 of 4 without a value.',
    ]);
    const empty = draw(answer([series([null])]));
    expect(empty.series.map((one) => summaryOf(one, empty))).toEqual(['moonbeam: no values.']);
  });
});
