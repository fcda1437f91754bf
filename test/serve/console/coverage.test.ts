import { describe, expect, it } from 'vitest';
import { type CoveredDays, coverage } from '../../../serve/console/charts/coverage.ts';
import { addDays } from '../../../serve/console/model/periods.ts';

const TODAY = '2026-01-31';
const NO_PRICE = { token: 'DOT', total: 0, ranges_total: 0, ranges: [] };

function chain(more: Partial<CoveredDays> = {}): CoveredDays {
  return {
    ...{ relay_chain: 'polkadot', chain: 'polkadot' },
    ...{ days: ['2026-01-01', '2026-01-31'], gaps: [], unpriced: NO_PRICE },
    ...more,
  };
}

const drawn = (...chains: CoveredDays[]) => coverage(chains, TODAY).text;
const labels = (text: string) => [...text.matchAll(/role="img"><title>([^<]*)/g)].map(([, label]) => label);
const dates = (text: string) =>
  [...(/strip-dates.*?<\/ul>/s.exec(text)?.[0] ?? '').matchAll(/<li>([^<]+)/g)].map(([, date]) => date);
const titles = (text: string) => [...text.matchAll(/<rect[^>]*><title>([^<]*)/g)].map(([, title]) => title);

/** The looks of the bars and marks in the order of their places, each with its first day and number of days. */
function looks(text: string, days = 31) {
  const strip = /role="img".*?<\/svg>/s.exec(text)?.[0] ?? '';
  return [
    ...strip.matchAll(/<rect (?:fill="url\(#days-|class=")(\w+)\)?" x="([\d.]+)%".*?width="([\d.]+)%"/g),
  ].map(([, look, x, width]) => [
    look,
    Math.round((Number(x) * days) / 100),
    Math.round((Number(width) * days) / 100),
  ]);
}

describe('the strip of a chain', () => {
  it('is filled where all blocks are stored, and says so', () => {
    const text = drawn(chain());
    expect(labels(text)).toEqual(['Polkadot: blocks of all 31 days since 2026-01-01']);
    expect(looks(text)).toEqual([['whole', 0, 31]]);
    expect(text).toContain('href="/chains/polkadot"');
  });

  it('tells days without a block from days at the ends of a gap and from holes within a day', () => {
    const gaps = [
      ['2026-01-05', '2026-01-08'],
      ['2026-01-10', '2026-01-10'],
      ['2026-01-20', '2026-01-21'],
    ] as const;
    const text = drawn(chain({ gaps }));
    expect(looks(text)).toEqual([
      ...[
        ['whole', 0, 4],
        ['part', 4, 1],
        ['none', 5, 2],
        ['part', 7, 1],
        ['whole', 8, 1],
        ['part', 9, 1],
      ],
      ...[
        ['whole', 10, 9],
        ['part', 19, 2],
        ['whole', 21, 10],
      ],
    ]);
    expect(labels(text)).toEqual(['Polkadot: blocks of 29 of 31 days since 2026-01-01, missing in 3 places']);
    expect(titles(text)).toEqual([
      'Blocks are missing between 2026-01-05 and 2026-01-08',
      'No block between 2026-01-05 and 2026-01-08',
      'Blocks are missing between 2026-01-05 and 2026-01-08',
      'Blocks are missing on 2026-01-10',
      'Blocks are missing between 2026-01-20 and 2026-01-21',
    ]);
  });

  it('goes on to today, of which nothing is expected before its first block', () => {
    const old = drawn(chain({ days: ['2026-01-01', '2026-01-28'] }));
    expect(looks(old)).toEqual([
      ['whole', 0, 28],
      ['none', 28, 3],
    ]);
    expect(labels(old)).toEqual([
      'Polkadot: blocks of 28 of 31 days since 2026-01-01, none after 2026-01-28',
    ]);
    expect(titles(old)).toEqual(['No block after 2026-01-28']);
    expect(looks(drawn(chain({ days: ['2026-01-01', '2026-01-30'] })))).toEqual([['whole', 0, 30]]);
  });

  it('marks the days without a price', () => {
    const ranges = [
      { from: '2026-01-02', to: '2026-01-02' },
      { from: '2026-01-04', to: '2026-01-05' },
    ];
    const text = drawn(chain({ unpriced: { token: 'DOT', total: 3, ranges_total: 2, ranges } }));
    expect(looks(text).slice(1)).toEqual([
      ['unpriced', 1, 1],
      ['unpriced', 3, 2],
    ]);
    expect(titles(text)).toEqual([
      'No price of DOT on 2026-01-02',
      'No price of DOT from 2026-01-04 to 2026-01-05',
    ]);
    expect(labels(text)[0]).toContain('no price on 3 days');
  });

  it('shares its axis with other chains, from the first day of any', () => {
    const text = drawn(chain(), chain({ chain: 'hydration', days: ['2025-12-01', TODAY] }));
    expect(looks(text, 62)).toEqual([['whole', 31, 31]]);
    expect(dates(text)).toEqual(['1 Dec 2025', '17 Dec 2025', '1 Jan 2026', '17 Jan 2026']);
  });

  it('is bounded for thousands of gaps, and counts those that share a pixel', () => {
    const gaps = Array.from({ length: 2000 }, (_, i) => {
      const day = addDays('2015-01-01', 2 * i);
      return [day, day] as const;
    });
    const broken = chain({ days: ['2015-01-01', TODAY], gaps });
    const text = drawn(broken);
    expect(labels(text)[0]).toContain('missing in 2,000 places');
    expect(titles(text)[0]).toMatch(/^Blocks are missing in 2,000 places from 2015-01-01 to 2025-12-/);
    const days = Array.from({ length: 1000 }, (_, i) => addDays('2015-01-01', 4 * i));
    const unpriced = {
      token: 'DOT',
      total: 0,
      ranges_total: 0,
      ranges: days.map((day) => ({ from: day, to: day })),
    };
    const worst = Array.from({ length: 300 }, () =>
      chain({
        ...{ days: ['2015-01-01', TODAY], unpriced },
        gaps: Array.from({ length: 140 }, (_, i) => [
          addDays('2015-01-01', 28 * i),
          addDays('2015-01-01', 28 * i),
        ]),
      }),
    );
    expect(drawn(...worst).split('<rect').length).toBeLessThan(13_000);
  });

  it('shows days and holes that are narrower than a pixel as partly stored', () => {
    const long = chain({
      days: ['2016-02-01', TODAY],
      gaps: [
        ['2016-02-01', '2020-01-01'],
        ['2020-01-01', TODAY],
      ],
    });
    const [, before, between, after] = looks(drawn(long), 3653);
    expect([before?.[0], between?.[0], after?.[0]]).toEqual(['none', 'part', 'none']);
    expect(titles(drawn(long))[2]).toMatch(/^Blocks are missing in 2 places from 2020-01-01 to 2020-01-06$/);
  });

  it('takes days of a clock that is ahead, and a single day', () => {
    const odd = [
      chain({ days: ['2099-01-01', '2099-01-02'], gaps: [['2099-01-01', '2099-01-02']] }),
      chain({ days: ['2026-01-01', '2099-01-02'], gaps: [['2026-01-05', '2099-01-02']] }),
      chain({ days: [TODAY, TODAY] }),
    ];
    for (const one of odd) expect(drawn(one)).not.toMatch(/NaN|Infinity|-\d+(\.\d+)?%/);
    expect(looks(drawn(odd[2] as CoveredDays), 1)).toEqual([['whole', 0, 1]]);
  });
});
