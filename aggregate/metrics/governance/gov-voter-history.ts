import { sql } from '../../../infra/sql.ts';
import { count, flag, name, planck, real, text, timestamp, widePlanck } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { accountKey, indexParameter } from '../shared/filters.ts';
import { CONVICTION_NAMES } from './folds/account-vote.ts';
import { voterRecords } from './folds/voter-records.ts';
import { changedReferenda, countSteps, readSteps, stepsOfReferenda } from './referendum-steps.ts';

export const govVoterHistory = metric({
  record: 'GovVoterHistory',
  title: 'Votes',
  domain: 'governance',
  doc: 'Vote of each account on each referendum, as of the end of the referendum, or as of now while it is open. A new vote replaces the previous one. A split vote has a row for each side with tokens. An account whose delegation adds to the vote of another account has a row of type `Delegated`. A vote that was removed while the referendum was open keeps its rows, with `is_final` false.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain where the vote was last cast or removed', { title: 'Chain' }),
    referendum_index: count('index of the referendum', { title: 'Referendum', unit: 'identifier' }),
    track: count('track of the referendum; null when only votes on it are stored', {
      title: 'Track',
      unit: 'identifier',
      nullable: true,
    }),
    voter: text('account as SS58 of the chain', { title: 'Voter' }),
    vote_type: name('kind of vote', {
      title: 'Kind of vote',
      values: ['Standard', 'Split', 'SplitAbstain', 'Delegated'],
    }),
    vote_direction: name('aye, nay or abstain', { title: 'Side', values: ['aye', 'nay', 'abstain'] }),
    conviction: real('multiplier: 0.1, 1, 2, 3, 4, 5 or 6; 0.1 for split votes', {
      title: 'Conviction multiplier',
      unit: 'number',
    }),
    conviction_name: name('`None`, or `Locked1x` to `Locked6x`', {
      title: 'Conviction',
      values: CONVICTION_NAMES,
    }),
    capital: real('tokens before conviction, in native tokens', { title: 'Tokens', unit: 'native' }),
    capital_planck: planck('`capital` in planck', { title: 'Tokens in planck' }),
    votes: real('`capital` * `conviction`, rounded down to whole planck, in native tokens', {
      title: 'Votes',
      unit: 'native',
    }),
    votes_planck: widePlanck('`votes` in planck', { title: 'Votes in planck' }),
    delegated_votes: real(
      'votes of all delegations to this account on the track, in native tokens; 0 unless the vote is `Standard` and not removed',
      { title: 'Delegated votes', unit: 'native' },
    ),
    delegated_votes_planck: widePlanck('`delegated_votes` in planck', { title: 'Delegated votes in planck' }),
    delegated_capital: real('tokens of these delegations before conviction, in native tokens', {
      title: 'Delegated tokens',
      unit: 'native',
    }),
    delegated_capital_planck: widePlanck('`delegated_capital` in planck', {
      title: 'Delegated tokens in planck',
    }),
    delegated_to: text('account whose vote the delegation adds to; null for other types', {
      title: 'Delegated to',
      nullable: true,
    }),
    is_final: flag('false if the vote was removed while the referendum was open', { title: 'Final' }),
    voted_at: timestamp(
      'time of the last vote, or of its removal; for `Delegated`, the later of the delegation and the vote',
      { title: 'Voted' },
    ),
    block_number: count('block of `voted_at`; null when only a snapshot contains the delegation', {
      title: 'Block',
      unit: 'height',
      nullable: true,
    }),
    extrinsic_id: text('`<block_number>-<extrinsic_index>` of `voted_at`; null outside of extrinsics', {
      title: 'Extrinsic',
      nullable: true,
    }),
  },
  internal: { voter_key: 'String' },
  key: ['relay_chain', 'chain', 'referendum_index', 'voter', 'vote_type', 'vote_direction'],
  materialized: 'whole',
  entities: { column: 'referendum_index', changed: changedReferenda, sizes: countSteps },
  select: stepsOfReferenda,
  version: 2,
  fold: (rows, { relay_chain }) => voterRecords(relay_chain, ...readSteps(relay_chain, rows)),
  endpoints: [
    {
      path: '/api/gov-voter-history',
      summary: 'Votes by referendum and account',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      isLimited: true,
      filters: {
        referendum_index: {
          schema: indexParameter().describe('index of the referendum'),
          condition: (index: number) => sql`referendum_index = ${index}`,
        },
        voter: {
          schema: accountKey().describe(
            'account that voted or delegated, as SS58 with any prefix or as H160',
          ),
          condition: (key: string) => sql`voter_key = ${key}`,
        },
      },
    },
  ],
});
