import { metric } from '../../metric.ts';
import { coinHoldings, type HoldingsFact, holdingRows } from './coin-holdings.ts';

export const dailyCoinB = metric({
  record: 'DailyCoinB',
  ...coinHoldings('b'),
  fold: (facts: readonly HoldingsFact[]) => holdingRows('b', facts),
});
