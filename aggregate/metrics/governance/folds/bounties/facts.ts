import { type Sql, sql } from '../../../../../infra/clickhouse/sql.ts';
import { ofPallets, relayOf, type Window } from '../../../../../ingest/raw/canonical.ts';
import { orderedFacts } from '../../../shared/facts.ts';

const CURATION = ['proposeCurator', 'acceptCurator', 'unassignCurator'];

/** Events and calls of bounties and child bounties, and prices. */
export const bountyFacts = (window: Window): Sql =>
  orderedFacts(relayOf(window), {
    events: ofPallets('bounties', 'childBounties'),
    calls: sql`((${ofPallets('bounties')} AND call IN ${['proposeBounty', ...CURATION]})
      OR (${ofPallets('childBounties')} AND call IN ${['addChildBounty', ...CURATION]}))`,
    prices: true,
  });
