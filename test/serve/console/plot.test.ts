import { describe, expect, it } from 'vitest';
import { chartStateOf, hiddenIn, type SeriesAnswer } from '../../../serve/console/chart-state.ts';
import { plot } from '../../../serve/console/charts/plot.ts';
import { drawingOf } from '../../../serve/console/drawing.ts';
import { CASES, series } from './chart-pages.ts';

/** A chart without a script, as an address asks for it. */
function drawn(all: readonly ReturnType<typeof series>[], address = ''): string {
  const query = new URLSearchParams(address);
  const periods = all[0]?.values.length ?? 0;
  const answer: SeriesAnswer = {
    ...{ start: '2026-01-01', periods, provisional_from: null, series: all },
    per: 'day',
  };
  return plot(drawingOf(answer, chartStateOf(query), hiddenIn(query)), 'A chart').text;
}
const labels = (svg: string, anchor: string) =>
  [...svg.matchAll(new RegExp(`text-anchor="${anchor}">([^<]*)<`, 'g'))].map(([, text = '']) =>
    text.replaceAll('\u00a0', ' '),
  );
const count = (svg: string, part: string) => svg.split(part).length - 1;
const two = [series('a', [1, 10, 100]), series('b', [100, 100, 100])];

describe('a chart without a script', () => {
  it('stacks what its address asks to, and leaves gaps', () => {
    const stacked = drawn(two, 'style=stacked');
    expect(count(stacked, 'class="area"')).toBe(2);
    expect(labels(stacked, 'end')).toContain('200');
    expect(labels(drawn(two, 'style=share'), 'end')).toContain('100 %');
    const holed = drawn([series('a', [1, 1, null, 1, 1]), series('b', [1, 1, 1, 1, 1])], 'style=stacked');
    expect(count(holed, 'class="area"')).toBe(4);
  });

  it('has the axis that its address asks for', () => {
    expect(labels(drawn(two, 'log=1'), 'end')).toEqual(['1', '10', '100']);
    expect(labels(drawn([series('a', [5, 10])], 'indexed=1'), 'end')).toContain('200');
  });

  it('has an axis for each of two units', () => {
    const units = drawn(CASES.units?.(30) ?? []);
    expect(labels(units, 'end')).toContain('1.0 M');
    expect(labels(units, 'start')).toContain('20');
  });

  it('leaves out what is switched off', () => {
    const rest = drawn(two, `hide=${two[0]?.id}`);
    expect(rest).not.toContain('class="line-0"');
    expect(rest).toContain('class="line-1"');
  });

  it('draws every series of the case pages without a number that is none', () => {
    for (const [name, of] of Object.entries(CASES)) {
      for (const address of ['', 'style=stacked', 'style=share', 'log=1', 'indexed=1', 'mean=7'])
        if (name !== 'huge') expect(drawn(of(60), address), `${name} ${address}`).not.toMatch(/NaN|Infinity/);
    }
  });
});
