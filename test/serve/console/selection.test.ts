import { brotliCompressSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { chainPicker } from '../../../serve/console/charts/controls.ts';
import { daysOf, select } from '../../../serve/console/charts/selection.ts';
import { DEFAULT_STATE, type SeriesData } from '../../../serve/console/model/chart-state.ts';
import {
  chartColumnOf,
  chartMetric,
  type Line,
  lineId,
} from '../../../serve/console/series/chart-metrics.ts';
import type { SeriesReader } from '../../../serve/console/series/series.ts';

const metric = chartMetric('daily-tps') ?? expect.fail('no such metric');
const column = chartColumnOf(metric, 'num_blocks');
const named = { chains: [] as string[], parts: [] };
const CHAINS = Array.from({ length: 100 }, (_, i) => `chain-${i}`);

/** A hundred chains, the last of them the largest, and their ecosystem. */
const reader = (today: string) =>
  ({
    today,
    linesOf: async () =>
      [...CHAINS, 'ecosystem'].map((chain) => ({
        ...{ relay_chain: 'polkadot', chain, parts: [], first: '2026-01-01' },
      })),
    read: async (_, lines: readonly Line[]) => ({
      ...{ per: 'day', start: today, periods: 1, provisional_from: null },
      series: lines.map((line): SeriesData => {
        const { chain, parts } = line;
        const values = [chain === 'chain-99' ? null : Number(chain.split('-')[1] ?? 10_000)];
        return {
          id: lineId(line),
          title: '',
          relay_chain: 'polkadot',
          chain,
          parts,
          unit: 'count',
          token: null,
          values,
          gaps: [],
        };
      }),
    }),
  }) as Pick<SeriesReader, 'today' | 'linesOf' | 'read'> as SeriesReader;
const selected = (chains: readonly string[] = []) =>
  select(reader('2026-06-30'), {} as never, {
    ...{ metric, column, state: DEFAULT_STATE, named: { ...named, chains } },
  });
const chainsIn = (lines: readonly Line[]) => lines.map(({ chain }) => chain);

describe('of a hundred chains', () => {
  it('the largest with values are drawn, and how many others there are is told', async () => {
    const { lines, notice, chains, answer } = await selected();
    expect(chainsIn(lines)).toEqual(['chain-98', 'chain-97', 'chain-96', 'chain-95', 'chain-94', 'chain-93']);
    expect(answer.series.map(({ chain }) => chain)).toEqual(chainsIn(lines));
    expect(notice).toBe('The 6 largest of 99 are drawn.');
    expect(chains).toHaveLength(101);
  });

  it('those that an address names are drawn, the largest ten of them if there are more', async () => {
    expect(chainsIn((await selected(['chain-1', 'polkadot/ecosystem'])).lines)).toEqual([
      'chain-1',
      'ecosystem',
    ]);
    const { lines, notice, unknown } = await selected([...CHAINS.slice(0, 20), 'chain-1000']);
    expect(chainsIn(lines)).toEqual(CHAINS.slice(10, 20).reverse());
    expect(notice).toBe('The 10 largest of 20 are drawn.');
    expect(unknown).toEqual([expect.stringMatching(/^There are no rows of a chain called chain-1000/)]);
  });

  it('each keeps its colour, in whatever order an address names them and whichever others there are', async () => {
    const coloursOf = async (chains: readonly string[]) => {
      const { lines, answer } = await selected(chains);
      return new Map(chainsIn(lines).map((chain, i) => [chain, answer.colours?.[i]]));
    };
    const usual = await coloursOf([]);
    expect(new Set(usual.values()).size).toBe(6);
    const names = [...usual.keys()];
    for (const some of [names, names.toReversed(), names.slice(2), [...names.slice(3), 'chain-2']]) {
      for (const [chain, colour] of await coloursOf(some))
        if (usual.has(chain)) expect(colour, chain).toBe(usual.get(chain));
    }
    // Of two with the same rank one takes the next colour.
    expect([...(await coloursOf(['chain-12', 'chain-2', 'chain-3'])).values()]).toEqual([2, 3, 4]);
  });

  it('the menu stays small', async () => {
    const { chains, chosen } = await selected();
    expect(brotliCompressSync(chainPicker(chains, chosen.chains).text).length).toBeLessThan(2000);
  });
});

describe('days of a chart', () => {
  it.each([
    ['1969-12-31', '1969-12-31'],
    ['2020-01-01', '2020-01-01'],
    ['2026-06-30', '2026-01-01'],
    ['2149-01-01', '2128-12-18'],
  ])('end today, also by a clock that is wrong: %s', (today, from) => {
    expect(daysOf({ ...DEFAULT_STATE, range: 'all' }, reader(today), ['2026-01-01'])).toEqual({
      from,
      until: today,
    });
  });
});
