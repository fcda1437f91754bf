import { sql } from '../../../infra/sql.ts';
import { count, day, name, planck, real, text, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { indexParameter } from '../shared/filters.ts';
import { CHILD_STATUSES } from './folds/bounties/child-bounties.ts';
import { bountyFacts } from './folds/bounties/facts.ts';
import { childBountyRecords } from './folds/bounties/records.ts';

export const govChildBounty = metric({
  record: 'GovChildBounty',
  title: 'Child bounties',
  domain: 'governance',
  doc: 'Current state of each child bounty. In spring 2025, ids started again at 0 within each parent bounty, so several child bounties can have the same parent and id. Their rows are in the order of their first events and differ in `added_at`. A child bounty that moved to another chain with governance is one row, under the chain where it last changed.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the newest event or call that changed the child bounty', { title: 'Chain' }),
    parent_bounty_id: count('id of the parent bounty', { title: 'Bounty', unit: 'identifier' }),
    child_bounty_id: count('id among the child bounties of its parent', {
      title: 'Child bounty',
      unit: 'identifier',
    }),
    status: name('state of the child bounty', { title: 'Status', values: CHILD_STATUSES }),
    value: real('value of the child bounty, in native tokens; null when its addition is not stored', {
      title: 'Value',
      unit: 'native',
      nullable: true,
    }),
    value_planck: planck('`value` in planck', { title: 'Value in planck', nullable: true }),
    curator_fee: real('fee of the curator proposed last, in native tokens; null without one', {
      title: 'Curator fee',
      unit: 'native',
      nullable: true,
    }),
    curator_fee_planck: planck('`curator_fee` in planck', { title: 'Curator fee in planck', nullable: true }),
    claimed_amount: real('amount paid to the beneficiary, in native tokens; null until it is claimed', {
      title: 'Claimed amount',
      unit: 'native',
      nullable: true,
    }),
    claimed_amount_planck: planck('`claimed_amount` in planck', {
      title: 'Claimed amount in planck',
      nullable: true,
    }),
    claimed_amount_usd: real(
      '`claimed_amount` in USD at the price on the day of the claim; null without a price',
      { title: 'Claimed amount in USD', unit: 'usd', nullable: true },
    ),
    beneficiary: text('beneficiary of the claim, or else of the award, as SS58', {
      title: 'Beneficiary',
      nullable: true,
    }),
    description: text('description from the call that added it', { title: 'Description', nullable: true }),
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
      summary: 'Child bounties with value, beneficiary, status and claimed amount',
      relays: SERVED_RELAYS,
      scopeParameters: ['chain'],
      isLimited: true,
      dates: { column: 'parent_bounty_start_date', required: false },
      filters: {
        parent_bounty_id: {
          schema: indexParameter().describe('id of the parent bounty'),
          condition: (id: number) => sql`parent_bounty_id = ${id}`,
        },
      },
    },
  ],
});
