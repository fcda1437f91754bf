import { day, name, real } from '../../../infra/clickhouse/columns.ts';
import { metric } from '../../metric.ts';
import { type HoldingsFact, heldOf, holdingsOfDay } from './held-coins.ts';

export const dailyCoinB = metric({
  record: 'DailyCoinB',
  title: 'Holdings of coin B',
  domain: 'finance',
  doc: 'How much of coin B a chain holds, by the last `stable_holdings` snapshot of a UTC day. On a day whose snapshot has no holding of the coin a chain has no row.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    date: day('UTC day of the snapshot', { title: 'Day' }),
    sum_of_coin_b: real(
      'sum over the chain’s assets of (issuance - held by sovereign accounts of other chains) / 10^decimals, in coins',
      { title: 'Coin B held', unit: 'number', overTime: 'last', overChains: 'sum', isDrawn: true },
    ),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  select: holdingsOfDay,
  fold: (facts: readonly HoldingsFact[]) =>
    facts.flatMap((fact) => {
      const sum_of_coin_b = heldOf('coin_b', fact);
      const { relay_chain, chain, date } = fact;
      return sum_of_coin_b === null ? [] : [{ relay_chain, chain, date, sum_of_coin_b }];
    }),
  endpoints: [
    {
      path: '/api/daily-coin-b',
      summary: 'Amount of coin B held by a chain',
      relays: ['polkadot'],
      dates: { column: 'date', floor: '2023-01-01', required: true },
    },
  ],
});
