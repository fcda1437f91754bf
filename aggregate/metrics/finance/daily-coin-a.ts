import { metric } from '../../metric.ts';
import { coinHoldings, type HoldingsFact, holdingRows } from './coin-holdings.ts';

export const dailyCoinA = metric({
  record: 'DailyCoinA',
  ...coinHoldings('a'),
  fold: (facts: readonly HoldingsFact[]) => holdingRows('a', facts),
});
