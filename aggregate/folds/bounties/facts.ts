import { raw, type Sql } from '../../../infra/kernel/sql.ts';
import type { Window } from '../../../ingest/streams/living.ts';
import { orderedFacts } from '../facts.ts';

/** What bounties and their child bounties went through, and what tokens were worth. */
export const bountyFacts = ({ relay_chain }: Window): Sql =>
  orderedFacts(relay_chain, {
    events: raw("pallet IN ('bounties', 'childBounties')"),
    calls: raw(
      "((pallet = 'bounties' AND call IN ('proposeBounty', 'proposeCurator', 'acceptCurator', 'unassignCurator')) OR (pallet = 'childBounties' AND call IN ('addChildBounty', 'proposeCurator', 'acceptCurator', 'unassignCurator')))",
    ),
    prices: true,
  });
