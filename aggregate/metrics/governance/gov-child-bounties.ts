import { sql } from '../../../infra/sql.ts';
import { count, day, name, planck, real, text, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { indexText } from '../shared/filters.ts';
import { CHILD_STATUSES } from './folds/bounties/child-bounties.ts';
import { bountyFacts } from './folds/bounties/facts.ts';
import { childBountyRecords } from './folds/bounties/records.ts';

export const govChildBounty = metric({
  record: 'GovChildBounty',
  title: 'Child bounties',
  domain: 'governance',
  doc: 'One row per child bounty. Its parent and its own id name it together, but ids were given again when they began at 0 within each parent: rows of one id stand in the order of their first events, and each whose addition is known has its own `added_at`. A child bounty that moved to another chain with its governance is one row, under the chain where it last changed.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the newest event or call that changed the child bounty', { title: 'Chain' }),
    parent_bounty_id: count('id of the bounty that it is paid from', { title: 'Bounty', unit: 'identifier' }),
    child_bounty_id: count('id among the child bounties of its parent', {
      title: 'Child bounty',
      unit: 'identifier',
    }),
    status: name('state of the child bounty', { title: 'Status', values: CHILD_STATUSES }),
    value: real('tokens set aside for it, in native tokens; null when its addition is not known', {
      title: 'Value',
      unit: 'native',
      nullable: true,
    }),
    value_planck: planck('the same in planck', { title: 'Value in planck', nullable: true }),
    curator_fee: real('part of it for the last curator proposed, in native tokens; null without one', {
      title: 'Curator fee',
      unit: 'native',
      nullable: true,
    }),
    curator_fee_planck: planck('the same in planck', { title: 'Curator fee in planck', nullable: true }),
    claimed_amount: real('tokens paid to the beneficiary, in native tokens; null until they are claimed', {
      title: 'Claimed amount',
      unit: 'native',
      nullable: true,
    }),
    claimed_amount_planck: planck('the same in planck', {
      title: 'Claimed amount in planck',
      nullable: true,
    }),
    claimed_amount_usd: real(
      'the same in USD at the price of the UTC day of the claim; null when that is not known',
      { title: 'Claimed amount in USD', unit: 'usd', nullable: true },
    ),
    beneficiary: text('SS58 of the account that claimed it, or else that it was awarded to', {
      title: 'Beneficiary',
      nullable: true,
    }),
    description: text('description, as UTF-8', { title: 'Description', nullable: true }),
    added_at: timestamp('time of its addition', { title: 'Added', nullable: true }),
    awarded_at: timestamp('time of its last award', { title: 'Awarded', nullable: true }),
    claimed_at: timestamp('time of its claim', { title: 'Claimed', nullable: true }),
    parent_bounty_start_date: day('UTC day on which the parent first became active, or else was proposed', {
      title: 'Start of the bounty',
      nullable: true,
    }),
  },
  // Position among the child bounties of one id, by their first events.
  internal: { opening: 'UInt64' },
  key: ['relay_chain', 'chain', 'parent_bounty_id', 'child_bounty_id', 'opening'],
  materialized: 'whole',
  select: bountyFacts,
  version: 3,
  fold: (facts, window) => childBountyRecords(window.relay_chain, facts),
  endpoints: [
    {
      path: '/api/gov-child-bounties',
      summary: 'Child bounties with value, beneficiary, status and what was claimed',
      relays: SERVED_RELAYS,
      scopeParameters: ['chain'],
      isLimited: true,
      dates: { column: 'parent_bounty_start_date', required: false },
      filters: {
        parent_bounty_id: {
          schema: indexText().describe('id of the parent bounty'),
          condition: (id: number) => sql`parent_bounty_id = ${id}`,
        },
      },
    },
  ],
});
