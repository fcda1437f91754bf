import { type Sql, sql } from '../../../../../infra/sql.ts';
import { CURATOR_CALLS } from '../../../../../ingest/decode/fact-calls.ts';
import { ofPallets, relayOf, type Window } from '../../../../../ingest/raw/canonical.ts';
import { orderedFacts } from '../../../shared/facts.ts';

/** Events and calls of bounties and child bounties, their renumberings, and prices. */
export const bountyFacts = (window: Window): Sql =>
  orderedFacts(relayOf(window), {
    events: ofPallets('bounties', 'childBounties'),
    calls: sql`((${ofPallets('bounties')} AND call IN ${['proposeBounty', ...CURATOR_CALLS]})
      OR (${ofPallets('childBounties')} AND call IN ${['addChildBounty', ...CURATOR_CALLS]}))`,
    snapshots: ['child_bounty_ids'],
    prices: true,
  });
