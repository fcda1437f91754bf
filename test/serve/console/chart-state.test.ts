import { describe, expect, it } from 'vitest';
import {
  type ChartState,
  chartQuery,
  chartStateOf,
  DEFAULT_STATE,
} from '../../../serve/console/model/chart-state.ts';

const read = (query: string) => chartStateOf(new URLSearchParams(query));

describe('the state of a chart in an address', () => {
  it('is the same after it was written and read', () => {
    const state: ChartState = {
      range: { from: '2026-01-01', until: '2026-01-31' },
      per: 'week',
      style: 'share',
      money: 'usd',
      isIndexed: true,
      isLogarithmic: true,
      isSmoothed: true,
    };
    expect(chartStateOf(chartQuery(state))).toEqual(state);
  });

  it('is empty when everything is the default', () => {
    expect(chartQuery(DEFAULT_STATE).toString()).toBe('');
    expect(read('')).toEqual(DEFAULT_STATE);
  });

  it.each([
    'range=3d&per=hour&style=pie&money=gold&indexed=yes&log=true&mean=8',
    'from=2026-02-30&until=2026-03-01',
    'from=2026-02-03&until=2026-02-01',
    'from=2026-02-03',
    'from=<script>&until=99999-01-01',
  ])('takes the default for what %s says wrongly', (query) => {
    expect(read(query)).toEqual(DEFAULT_STATE);
  });
});
