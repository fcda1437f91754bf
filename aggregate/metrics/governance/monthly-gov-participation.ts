import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { CHANGED_MONTHS, referendumMonth } from './referendum-month.ts';

export const monthlyGovParticipation = metric({
  record: 'MonthlyGovParticipation',
  title: 'Participation in referenda',
  domain: 'governance',
  doc: 'Accounts that took part in referenda in a month, by chain. `direct` counts accounts that cast or changed a vote. `delegated` counts accounts whose delegation took effect: the target cast or changed a Standard vote on a referendum of the track, or the delegation began while the target had such a vote on an open referendum. If one type has voters, both have a row.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the votes, or chain where the delegations took effect', { title: 'Chain' }),
    month: day('last day of the month', { title: 'Month' }),
    vote_type: name('`direct` or `delegated`', { title: 'Kind of vote', values: ['direct', 'delegated'] }),
    number_of_voters: count('distinct accounts that voted, or whose delegation took effect', {
      title: 'Voters',
      overTime: 'none',
      overChains: 'none',
    }),
    number_of_referenda: count('distinct referenda of these votes and delegations', {
      title: 'Referenda',
      overTime: 'none',
      overChains: 'none',
    }),
  },
  key: ['month', 'relay_chain', 'chain', 'vote_type'],
  materialized: 'whole',
  entities: CHANGED_MONTHS,
  select: (window, months = []) => sql`
    SELECT relay_chain, chain, month, counts.1 AS vote_type, counts.2 AS number_of_voters,
      counts.3 AS number_of_referenda
    FROM (
      SELECT relay_chain, chain, month, arrayJoin([
        ('direct', uniqExactIf(account, vote_type = 'direct'), uniqExactIf(referendum_index, vote_type = 'direct')),
        ('delegated', uniqExactIf(account, vote_type = 'delegated'), uniqExactIf(referendum_index, vote_type = 'delegated'))
      ]) AS counts
      FROM ${referendumMonth.table} FINAL
      WHERE ${ofRelays(window)} AND month IN ${months} AND account != ''
      GROUP BY relay_chain, chain, month)`,
  endpoints: [
    {
      path: '/api/monthly-gov-participation',
      summary: 'Voters and referenda of a month',
      relays: ['polkadot'],
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
