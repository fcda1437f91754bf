import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name, real, widePlanck } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { nativeSql } from '../shared/amounts.ts';
import { registryOf } from '../shared/sql.ts';
import { CHANGED_MONTHS, referendumMonth } from './referendum-month.ts';

export const monthlyGovTokens = metric({
  record: 'MonthlyGovTokens',
  title: 'Tokens in referenda',
  domain: 'governance',
  doc: 'Tokens behind the votes of a month, by chain and side. `direct` counts the last vote of an account on a referendum in the month, unless it was removed in the same month while the referendum was open. `delegated` counts delegations that took effect in the month, if they add to a Standard vote at the end of the referendum or of the month, whichever comes first.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the last vote, or chain where the delegation last took effect in the month', {
      title: 'Chain',
    }),
    month: day('last day of the month', { title: 'Month' }),
    vote_type: name('`direct` or `delegated`', { title: 'Kind of vote', values: ['direct', 'delegated'] }),
    vote_direction: name('aye, nay or abstain', { title: 'Side', values: ['aye', 'nay', 'abstain'] }),
    capital: real('tokens before conviction, in native tokens', {
      title: 'Tokens',
      unit: 'native',
      overTime: 'none',
    }),
    capital_planck: widePlanck('`capital` in planck', { title: 'Tokens in planck', overTime: 'none' }),
    votes: real('tokens after conviction, each vote rounded down to whole planck, in native tokens', {
      title: 'Votes',
      unit: 'native',
      overTime: 'none',
    }),
    votes_planck: widePlanck('`votes` in planck', { title: 'Votes in planck', overTime: 'none' }),
    number_of_votes: count('pairs of account and referendum with tokens on this side', {
      title: 'Votes cast',
      overTime: 'none',
    }),
  },
  key: ['month', 'relay_chain', 'chain', 'vote_type', 'vote_direction'],
  materialized: 'whole',
  entities: CHANGED_MONTHS,
  select: (window, months = []) => sql`
    SELECT relay_chain, sides.chain AS chain, month, vote_type, vote_direction,
      ${nativeSql('capital_planck')} AS capital, capital_planck,
      ${nativeSql('votes_planck')} AS votes, votes_planck, number_of_votes
    FROM (
      SELECT relay_chain, chain, month, vote_type, vote_direction, sum(side.capital_planck) AS capital_planck,
        sum(side.votes_planck) AS votes_planck, sum(side.number_of_votes) AS number_of_votes
      FROM ${referendumMonth.table} AS side FINAL
      WHERE ${ofRelays(window)} AND month IN ${months} AND vote_direction != ''
      GROUP BY relay_chain, chain, month, vote_type, vote_direction) AS sides
    INNER JOIN ${registryOf(window)} AS registry ON registry.chain = sides.chain`,
  endpoints: [
    {
      path: '/api/monthly-gov-tokens',
      summary: 'Tokens behind each side in a month',
      relays: ['polkadot'],
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
