import { sql } from '../../../infra/sql.ts';
import { count, flag, name, planck, real, text, timestamp, widePlanck } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { accountKey, indexText } from '../shared/filters.ts';
import { CONVICTION_NAMES } from './folds/account-vote.ts';
import { voterRecords } from './folds/voter-records.ts';
import { changedReferenda, countSteps, readSteps, stepsOfReferenda } from './referendum-steps.ts';

export const govVoterHistory = metric({
  record: 'GovVoterHistory',
  title: 'Votes',
  domain: 'governance',
  doc: 'How each account voted on each referendum: as it stood when the referendum ended, or as it stands now. A new vote replaces the former one; a split vote has a row for each side that it puts tokens on; an account whose delegation adds to another’s vote has a row of type Delegated. A vote that was taken back while the referendum was open keeps its rows with `is_final` false.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain where the vote was last cast or taken back', { title: 'Chain' }),
    referendum_index: count('index of the referendum', { title: 'Referendum', unit: 'identifier' }),
    track: count('track of the referendum; null when only votes on it are known', {
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
    conviction_name: name('None, Locked1x to Locked6x', { title: 'Conviction', values: CONVICTION_NAMES }),
    capital: real('tokens before conviction, in native tokens', { title: 'Tokens', unit: 'native' }),
    capital_planck: planck('the same in planck', { title: 'Tokens in planck' }),
    votes: real(
      'tokens after conviction: a tenth, rounded down in planck, for None, else capital × multiplier',
      { title: 'Votes', unit: 'native' },
    ),
    votes_planck: widePlanck('the same in planck', { title: 'Votes in planck' }),
    delegated_votes: real(
      'sum of the votes of all delegations on the track to this account; 0 unless a Standard vote stands',
      { title: 'Delegated votes', unit: 'native' },
    ),
    delegated_votes_planck: widePlanck('the same in planck', { title: 'Delegated votes in planck' }),
    delegated_capital: real('sum of the tokens of those delegations before conviction, in native tokens', {
      title: 'Delegated tokens',
      unit: 'native',
    }),
    delegated_capital_planck: widePlanck('the same in planck', { title: 'Delegated tokens in planck' }),
    delegated_to: text('for Delegated: the account whose vote it adds to', {
      title: 'Delegated to',
      nullable: true,
    }),
    is_final: flag('whether the vote stood at the end of the referendum, or stands now', { title: 'Final' }),
    voted_at: timestamp(
      'time of the last cast, or of its removal; for Delegated the later of delegation and cast',
      { title: 'Voted' },
    ),
    block_number: count('height of that moment; null where only a snapshot told of the delegation', {
      title: 'Block',
      unit: 'height',
      nullable: true,
    }),
    extrinsic_id: text('`<block_number>-<extrinsic_index>` of that moment; null outside an extrinsic', {
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
          schema: indexText().describe('index of the referendum'),
          condition: (index: number) => sql`referendum_index = ${index}`,
        },
        voter: {
          schema: accountKey().describe('account that voted or delegated, in any SS58 spelling or as H160'),
          condition: (key: string) => sql`voter_key = ${key}`,
        },
      },
    },
  ],
});
