import { day, name, real } from '../../../infra/clickhouse/columns.ts';
import { metric } from '../../metric.ts';
import { type HoldingsFact, heldOf, holdingsOfDay } from './held-coins.ts';

export const dailyCoinA = metric({
  record: 'DailyCoinA',
  title: 'Holdings of coin A',
  domain: 'finance',
  doc: 'How much of coin A a chain holds, by the last `stable_holdings` snapshot of a UTC day. On a day whose snapshot has no holding of the coin a chain has no row.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    date: day('UTC day of the snapshot', { title: 'Day' }),
    sum_of_coin_a: real(
      'sum over the chain’s assets of (issuance - held by sovereign accounts of other chains) / 10^decimals, in coins',
      { title: 'Coin A held', unit: 'number', overTime: 'last', overChains: 'sum', isDrawn: true },
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
      const sum_of_coin_a = heldOf('coin_a', fact);
      const { relay_chain, chain, date } = fact;
      return sum_of_coin_a === null ? [] : [{ relay_chain, chain, date, sum_of_coin_a }];
    }),
  endpoints: [
    {
      path: '/api/daily-coin-a',
      summary: 'Amount of coin A held by a chain',
      relays: ['polkadot'],
      dates: { column: 'date', floor: '2023-01-01', required: true },
    },
  ],
});
