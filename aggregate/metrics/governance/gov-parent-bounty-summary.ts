import { sql } from '../../../infra/sql.ts';
import { count, day, name, planck, real, text, timestamp, widePlanck } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { indexParameter } from '../shared/filters.ts';
import { BOUNTY_STATUSES } from './folds/bounties/bounties.ts';
import { bountyFacts } from './folds/bounties/facts.ts';
import { bountySummaries } from './folds/bounties/records.ts';

export const govParentBountySummary = metric({
  record: 'GovParentBountySummary',
  title: 'Bounties',
  domain: 'governance',
  doc: 'Current state of each bounty, with the totals of its child bounties. Every bounty in an event of `bounties` or `childBounties` has a row. A bounty that moved to another chain with governance is one row, under the chain where it last changed.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the newest event or call that changed the bounty or one of its child bounties', {
      title: 'Chain',
    }),
    parent_bounty_id: count('id of the bounty', { title: 'Bounty', unit: 'identifier' }),
    bounty_status: text('state of the bounty; null when only events of its child bounties are stored', {
      title: 'Status',
      nullable: true,
      values: BOUNTY_STATUSES,
    }),
    bounty_value: real('value in the proposal, in native tokens; null when the proposal is not stored', {
      title: 'Value',
      unit: 'native',
      nullable: true,
    }),
    bounty_value_planck: planck('`bounty_value` in planck', { title: 'Value in planck', nullable: true }),
    curator: text('curator proposed or accepted last, as SS58; null without one', {
      title: 'Curator',
      nullable: true,
    }),
    parent_bounty_start_date: day('UTC day on which it first became active, or else was proposed', {
      title: 'Start',
      nullable: true,
    }),
    child_bounty_count: count('`childBounties.Added` events', { title: 'Additions of child bounties' }),
    child_bounties_added: count('child bounties whose `Added` event is stored', { title: 'Child bounties' }),
    child_bounties_awarded: count('child bounties that were awarded', { title: 'Awarded child bounties' }),
    child_bounties_claimed: count('child bounties that were claimed', { title: 'Claimed child bounties' }),
    child_bounties_canceled: count('child bounties that were cancelled', {
      title: 'Cancelled child bounties',
    }),
    total_claimed: real('sum of all claims, in native tokens', { title: 'Claimed amount', unit: 'native' }),
    total_claimed_planck: widePlanck('`total_claimed` in planck', { title: 'Claimed amount in planck' }),
    total_claimed_usd: real(
      'sum of the claims in USD, each at the price of its day, without claims that have no price; null when none has one',
      { title: 'Claimed amount in USD', unit: 'usd', nullable: true },
    ),
    average_claimed: real(
      '`total_claimed` / `child_bounties_claimed`, in native tokens; null without claims',
      {
        title: 'Average claim',
        unit: 'native',
        overTime: 'mean',
        nullable: true,
      },
    ),
    average_claimed_usd: real('`total_claimed_usd` / number of claims with a price; null without any', {
      title: 'Average claim in USD',
      unit: 'usd',
      overTime: 'mean',
      overChains: 'none',
      nullable: true,
    }),
    unique_beneficiaries: count('distinct accounts that claimed', {
      title: 'Beneficiaries',
      overTime: 'none',
      overChains: 'none',
    }),
    top_beneficiary: text(
      'account with the highest sum of claims, as SS58; of equal sums, the account with the lowest key; null without claims',
      { title: 'Top beneficiary', nullable: true },
    ),
    top_beneficiary_claimed: real('sum of the claims of the top beneficiary, in native tokens', {
      title: 'Claimed by the top beneficiary',
      unit: 'native',
      overTime: 'max',
      nullable: true,
    }),
    top_beneficiary_claimed_planck: widePlanck('`top_beneficiary_claimed` in planck', {
      title: 'Claimed by the top beneficiary in planck',
      overTime: 'max',
      nullable: true,
    }),
    top_beneficiary_claimed_usd: real(
      'sum of the claims of the top beneficiary in USD, without claims that have no price; null when none has one',
      {
        title: 'Claimed by the top beneficiary in USD',
        unit: 'usd',
        overTime: 'max',
        overChains: 'max',
        nullable: true,
      },
    ),
    first_claim_at: timestamp('time of the first claim', { title: 'First claim', nullable: true }),
    last_claim_at: timestamp('time of the last claim', { title: 'Last claim', nullable: true }),
  },
  key: ['relay_chain', 'chain', 'parent_bounty_id'],
  materialized: 'whole',
  select: bountyFacts,
  version: 5,
  fold: (facts, window) => bountySummaries(window.relay_chain, facts),
  endpoints: [
    {
      path: '/api/gov-parent-bounty-summary',
      summary: 'Bounties with the totals of their child bounties',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      filters: {
        parent_bounty_id: {
          schema: indexParameter().describe('id of the bounty'),
          condition: (id: number) => sql`parent_bounty_id = ${id}`,
        },
      },
    },
  ],
});
