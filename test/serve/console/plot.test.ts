import { describe, expect, it } from 'vitest';
import { plot } from '../../../serve/console/charts/plot.ts';
import { chartStateOf, hiddenIn, type SeriesAnswer } from '../../../serve/console/model/chart-state.ts';
import { drawingOf } from '../../../serve/console/model/drawing.ts';
import { CASES, series } from './chart-pages.ts';

/** A chart without a script, as an address asks for it. */
function drawn(
  all: readonly ReturnType<typeof series>[],
  address = '',
  provisional_from: string | null = null,
): string {
  const query = new URLSearchParams(address);
  const periods = all[0]?.values.length ?? 0;
  const answer: SeriesAnswer = {
    ...{ start: '2026-01-01', periods, provisional_from, series: all },
    per: 'day',
  };
  return plot(drawingOf(answer, chartStateOf(query), hiddenIn(query)), 'A chart').text;
}
const count = (svg: string, part: string) => svg.split(part).length - 1;
/** What stands above the picture, for each axis. */
const axes = (svg: string) =>
  [...(svg.split('<svg')[0] ?? '').matchAll(/<span>([^<]*)</g)].map(([, text = '']) =>
    text.replaceAll('\u00a0', ' '),
  );
const paths = (svg: string) => [...svg.matchAll(/class="line-\d" d="([^"]*)"/g)].map(([, path]) => path);
const two = [series('a', [1, 10, 100]), series('b', [100, 100, 100])];

describe('a chart without a script', () => {
  it('draws each line between its lowest and its highest value, which it names with its days', () => {
    const svg = drawn([series('a', [0, 50, 100])]);
    expect(paths(svg)).toEqual(['M0,240L360,125L720,9']);
    expect(axes(svg)).toEqual(['0 to 104']);
    expect(svg.split('</svg>')[1]).toContain('<span>1 Jan 2026</span><span>3 Jan 2026</span>');
  });

  it('breaks a line where a value is unknown, and shades the days of which blocks are missing', () => {
    const svg = drawn([series('a', [100, 100, null, 100, null], { gaps: [[2, 2]] })]);
    expect(paths(svg)).toEqual(['M0,120L180,120M540,120h0']);
    expect(svg).toContain('class="gap" d="M270,240V0H450V240Z"');
  });

  it('stacks what its address asks to, the highest below, and leaves gaps', () => {
    const stacked = drawn(two, 'style=stacked');
    expect(paths(stacked).map((path) => count(path ?? '', 'Z'))).toEqual([1, 1]);
    expect(stacked.indexOf('line-1')).toBeLessThan(stacked.indexOf('line-0'));
    expect(axes(stacked)).toEqual(['0 to 208']);
    expect(axes(drawn(two, 'style=share'))).toEqual(['0 % to 100 %']);
    const holed = drawn([series('a', [1, 1, null, 1, 1]), series('b', [1, 1, 1, 1, 1])], 'style=stacked');
    expect(paths(holed).map((path) => count(path ?? '', 'Z'))).toEqual([2, 2]);
  });

  it('has the axis that its address asks for', () => {
    const logarithmic = drawn([series('a', [1, 10, 100])], 'log=1');
    expect(paths(logarithmic)).toEqual(['M0,240L360,120L720,0']);
    expect(axes(logarithmic)).toEqual(['(logarithmic): 1 to 100']);
    expect(axes(drawn([series('a', [5, 10])], 'indexed=1'))[0]).toMatch(/^first value = 100: /);
  });

  it('names the range of each of two units', () => {
    const units = axes(drawn(CASES.units?.(30) ?? []));
    expect(units).toHaveLength(2);
    expect(units[0]).toMatch(/^Blocks.*: 0 to [\d.]+ M$/);
    expect(units[1]).toMatch(/^Fees in DOT: [\d.]+ DOT to [\d.]+ DOT$/);
  });

  it('leaves out what is switched off', () => {
    const rest = drawn(two, `hide=${two[0]?.id}`);
    expect(rest).not.toContain('class="line-0"');
    expect(rest).toContain('class="line-1"');
  });

  it('is paler where it is not over, also where that is everything', () => {
    expect(drawn(two, '', '2026-01-03')).toContain('class="veil" d="M360,0V240H720V0Z"');
    expect(drawn(two, '', '2026-01-01')).toContain('class="veil" d="M0,0V240H720V0Z"');
    expect(drawn(two)).not.toContain('veil');
  });

  it('draws every series of the case pages without a number that is none', () => {
    for (const [name, of] of Object.entries(CASES)) {
      for (const address of ['', 'style=stacked', 'style=share', 'log=1', 'indexed=1', 'mean=7'])
        if (name !== 'huge') expect(drawn(of(60), address), `${name} ${address}`).not.toMatch(/NaN|Infinity/);
    }
  });
});
