import { count, day, name, planck, real, text, timestamp } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { indexText } from '../shared/filters.ts';
import { CHILD_STATUSES } from './folds/bounties/child-bounties.ts';
import { bountyFacts } from './folds/bounties/facts.ts';
import { childBountyRecords } from './folds/bounties/records.ts';

const unknown = { nullable: true } as const;

export const govChildBounty = metric({
  record: 'GovChildBounty',
  doc: 'One row per child bounty, which its parent and its own id name together. A child bounty that moved to another chain with its governance is one row, under the chain where it last changed.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain of the newest event or call that changed the child bounty'),
    parent_bounty_id: count('id of the bounty that it is paid from'),
    child_bounty_id: count('id among the child bounties of its parent'),
    status: name('state of the child bounty', { values: CHILD_STATUSES }),
    value: real('tokens set aside for it, in native tokens; null when its addition is not known', unknown),
    value_planck: planck('the same in planck', unknown),
    curator_fee: real(
      'part of it for the last curator proposed, in native tokens; null without one',
      unknown,
    ),
    curator_fee_planck: planck('the same in planck', unknown),
    claimed_amount: real(
      'tokens paid to the beneficiary, in native tokens; null until they are claimed',
      unknown,
    ),
    claimed_amount_planck: planck('the same in planck', unknown),
    claimed_amount_usd: real(
      'the same in USD at the price of the UTC day of the claim; null when that is not known',
      unknown,
    ),
    beneficiary: text('SS58 of the account that claimed it, or else that it was awarded to', unknown),
    description: text('description, as UTF-8', unknown),
    added_at: timestamp('time of its addition', unknown),
    awarded_at: timestamp('time of its last award', unknown),
    claimed_at: timestamp('time of its claim', unknown),
    parent_bounty_start_date: day(
      'UTC day on which the parent first became active, or else was proposed',
      unknown,
    ),
  },
  key: ['relay_chain', 'chain', 'parent_bounty_id', 'child_bounty_id'],
  materialized: 'whole',
  period: null,
  invalidationScope: 'day',
  lookbackDays: 1,
  select: bountyFacts,
  fold: (facts, window) => childBountyRecords(window.relay_chain, facts),
  endpoints: [
    {
      path: '/api/gov-child-bounties',
      summary: 'Child bounties',
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
