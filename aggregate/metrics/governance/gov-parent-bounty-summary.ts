import {
  count,
  day,
  name,
  planck,
  real,
  text,
  timestamp,
  widePlanck,
} from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { indexText } from '../shared/filters.ts';
import { BOUNTY_STATUSES } from './folds/bounties/bounties.ts';
import { bountyFacts } from './folds/bounties/facts.ts';
import { bountySummaries } from './folds/bounties/records.ts';

const unknown = { nullable: true } as const;

export const govParentBountySummary = metric({
  record: 'GovParentBountySummary',
  doc: 'One row per bounty that an event of `bounties` or `childBounties` names, with what its child bounties came to. A bounty that moved to another chain with its governance is one row, under the chain where it last changed.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain of the newest event or call that changed the bounty or one of its child bounties'),
    parent_bounty_id: count('id of the bounty'),
    bounty_status: text('state of the bounty; null when only its child bounties are known', {
      ...unknown,
      values: BOUNTY_STATUSES,
    }),
    bounty_value: real('tokens that were proposed for it, in native tokens', unknown),
    bounty_value_planck: planck('the same in planck', unknown),
    curator: text('SS58 of the curator that was proposed or accepted last', unknown),
    parent_bounty_start_date: day('UTC day on which it first became active, or else was proposed', unknown),
    child_bounty_count: count('additions of child bounties'),
    child_bounties_added: count('child bounties whose addition is known'),
    child_bounties_awarded: count('child bounties that were awarded'),
    child_bounties_claimed: count('child bounties that were claimed'),
    child_bounties_canceled: count('child bounties that were cancelled'),
    total_claimed: real('sum of all claims, in native tokens'),
    total_claimed_planck: widePlanck('the same in planck'),
    total_claimed_usd: real(
      'sum of the claims whose UTC day has a price, each at that price; null when none has',
      unknown,
    ),
    average_claimed: real('total_claimed / child_bounties_claimed; null without claims', unknown),
    average_claimed_usd: real('total_claimed_usd / the number of claims in it; null without them', unknown),
    unique_beneficiaries: count('distinct accounts that claimed'),
    top_beneficiary: text(
      'SS58 of the account that claimed most; of equals the one with the least key; null without claims',
      unknown,
    ),
    top_beneficiary_claimed: real('sum of its claims, in native tokens', unknown),
    top_beneficiary_claimed_planck: widePlanck('the same in planck', unknown),
    top_beneficiary_claimed_usd: real('sum of its claims whose UTC day has a price, in USD', unknown),
    first_claim_at: timestamp('time of the first claim', unknown),
    last_claim_at: timestamp('time of the last claim', unknown),
  },
  key: ['relay_chain', 'chain', 'parent_bounty_id'],
  materialized: 'whole',
  period: null,
  invalidationScope: 'day',
  lookbackDays: 1,
  select: bountyFacts,
  fold: (facts, window) => bountySummaries(window.relay_chain, facts),
  endpoints: [
    {
      path: '/api/gov-parent-bounty-summary',
      summary: 'Bounties and what their child bounties came to',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      filters: {
        parent_bounty_id: {
          schema: indexText().describe('id of the bounty'),
          condition: (id: number) => sql`parent_bounty_id = ${id}`,
        },
      },
    },
  ],
});
