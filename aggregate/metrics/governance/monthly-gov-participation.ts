import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { metric } from '../../metric.ts';
import { votingFacts } from './folds/facts.ts';
import { votingMonths } from './folds/voting-months.ts';

export const monthlyGovParticipation = metric({
  record: 'MonthlyGovParticipation',
  doc: 'Accounts that took part in referenda in a month, by chain: with a vote that they cast or changed, or with a delegation that took effect, because its target cast a Standard vote on its track or because it began while such a vote stood on an open referendum. Both kinds have a row as soon as one has something.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain where it happened'),
    month: day('last day of the month'),
    vote_type: name('direct or delegated', { values: ['direct', 'delegated'] }),
    number_of_voters: count('distinct accounts that voted, or whose delegation took effect'),
    number_of_referenda: count('distinct referenda of those votes'),
  },
  key: ['month', 'relay_chain', 'chain', 'vote_type'],
  materialized: 'whole',
  period: null,
  invalidationScope: 'day',
  lookbackDays: 1,
  select: votingFacts,
  fold: (facts, { relay_chain }) =>
    votingMonths(relay_chain, facts).participation.map(({ voters, referenda, ...row }) => ({
      relay_chain,
      ...row,
      number_of_voters: voters,
      number_of_referenda: referenda,
    })),
  endpoints: [
    {
      path: '/api/monthly-gov-participation',
      summary: 'Voters and referenda of a month',
      relays: ['polkadot'],
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
