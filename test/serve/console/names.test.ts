import { describe, expect, it } from 'vitest';
import { comparisonTitle } from '../../../serve/console/pages/compare.ts';
import { type Line, lineOf } from '../../../serve/console/series/chart-metrics.ts';
import { seriesNames } from '../../../serve/console/series/names.ts';

const lines = (...ids: string[]) => ids.map((id) => lineOf(id) as Line);

describe('the names of the series of a chart', () => {
  it('are those of their chains where all show the same, which is the title then', () => {
    const some = lines('daily-tps.num_blocks@polkadot/polkadot', 'daily-tps.num_blocks@kusama/kusama');
    expect(seriesNames(some)).toEqual(['Polkadot', 'Kusama']);
    expect(comparisonTitle(some)).toBe('Blocks');
  });

  it('say what each shows, and of which metric it is where two call theirs alike', () => {
    const some = lines(
      'daily-tps.num_blocks@polkadot/polkadot',
      'daily-summary.num_blocks@polkadot/polkadot',
      'daily-fees.total_fees_usd@polkadot/ecosystem',
      'daily-summary.fees_usd@polkadot/ecosystem',
    );
    expect(seriesNames(some)).toEqual([
      'Transactions per second: blocks, Polkadot',
      'Daily activity: blocks, Polkadot',
      'Fees: fees in USD, All of Polkadot',
      'Daily activity: fees in USD, All of Polkadot',
    ]);
    expect(comparisonTitle(some)).toBe('Comparison');
  });
});
