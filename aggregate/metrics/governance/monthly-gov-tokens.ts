import { count, day, name, real, widePlanck } from '../../../infra/clickhouse/columns.ts';
import { metric } from '../../metric.ts';
import { votingFacts } from './folds/facts.ts';
import { votingMonths } from './folds/voting-months.ts';

export const monthlyGovTokens = metric({
  record: 'MonthlyGovTokens',
  doc: 'Tokens that voted in a month, by chain and side. Direct: the last vote that an account cast on a referendum in the month, unless it took it back in the same month while the referendum was open. Delegated: the delegations that took effect in the month, as they added to a standing Standard vote when the referendum ended, or else when the month did.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain of the last cast, or where the delegation last took effect in the month'),
    month: day('last day of the month'),
    vote_type: name('direct or delegated', { values: ['direct', 'delegated'] }),
    vote_direction: name('aye, nay or abstain', { values: ['aye', 'nay', 'abstain'] }),
    capital: real('tokens before conviction, in native tokens'),
    capital_planck: widePlanck('the same in planck'),
    votes: real('tokens after conviction, each vote rounded down to planck, in native tokens'),
    votes_planck: widePlanck('the same in planck'),
    number_of_votes: count('pairs of account and referendum with tokens on this side'),
  },
  key: ['month', 'relay_chain', 'chain', 'vote_type', 'vote_direction'],
  materialized: 'whole',
  period: null,
  invalidationScope: 'day',
  lookbackDays: 1,
  select: votingFacts,
  fold: (facts, { relay_chain }) => {
    const { chains, sides } = votingMonths(relay_chain, facts);
    return sides.map(({ month, chain, vote_type, direction, capital, votes, number_of_votes }) => ({
      relay_chain,
      chain,
      month,
      vote_type,
      vote_direction: direction,
      capital: chains.native(capital, chain),
      capital_planck: capital.toString(),
      votes: chains.native(votes, chain),
      votes_planck: votes.toString(),
      number_of_votes,
    }));
  },
  endpoints: [
    {
      path: '/api/monthly-gov-tokens',
      summary: 'Tokens behind each side in a month',
      relays: ['polkadot'],
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
