import { metric } from '../../metric.ts';
import { coinHoldings, type HoldingsFact, holdingRows } from './held-coins.ts';

export const dailyCoinB = metric({
  record: 'DailyCoinB',
  ...coinHoldings('b'),
  fold: (facts: readonly HoldingsFact[]) => holdingRows('b', facts),
});
