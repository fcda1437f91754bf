import { type ListPage, type ListRow, type ListSection, rowsOf, sourceOf } from './list-page.ts';

export const referenda: ListPage = {
  path: '/governance',
  tab: 'Referenda',
  title: 'Referenda',
  lead: 'Every referendum of OpenGov with its result, newest first. Votes are weighted by conviction and come from the newest tally.',
  source: sourceOf('/api/daily-gov-referenda-results'),
  order: 'desc',
  columns: [
    { column: 'referendum_index', to: referendumPath },
    { column: 'outcome', as: 'state' },
    { column: 'origin' },
    { column: 'track' },
    { column: 'approval' },
    { column: 'ayes' },
    { column: 'nays' },
    { column: 'support' },
    { column: 'start_date' },
    { column: 'end_date' },
    { column: 'submitter', as: 'account' },
    { column: 'chain' },
  ],
  empty:
    'No referendum is stored yet. Referenda come with the blocks of Polkadot and of its asset hub, to which governance moved in November 2025.',
};

export const votes: ListPage = {
  path: '/governance/votes',
  tab: 'Votes',
  title: 'Votes',
  lead: 'The vote of each account on each referendum: its final vote if the referendum has ended, otherwise its current vote.',
  source: sourceOf('/api/gov-voter-history'),
  order: 'desc',
  filters: [
    { name: 'referendum_index', label: 'Referendum', hint: 'Its number' },
    { name: 'voter', label: 'Account', hint: 'SS58 with any prefix, or H160', isLong: true },
  ],
  columns: [
    { column: 'voter', as: 'account', to: rowsOf('/governance/votes', 'voter', 'voter') },
    { column: 'referendum_index', to: votedPath },
    { column: 'vote_direction', as: 'state' },
    { column: 'vote_type' },
    { column: 'conviction_name' },
    { column: 'capital' },
    { column: 'votes' },
    { column: 'delegated_votes' },
    { column: 'delegated_to', as: 'account', to: rowsOf('/governance/votes', 'voter', 'delegated_to') },
    { column: 'is_final' },
    { column: 'voted_at' },
    { column: 'relay_chain' },
  ],
  empty: 'No vote is stored yet. Votes come with the blocks of a relay chain and of its asset hub.',
};

const treasury: ListPage = {
  path: '/governance/treasury',
  tab: 'Treasury',
  title: 'Treasury balances',
  lead: 'The balance of each treasury at the end of each month, by asset; newest month first.',
  source: sourceOf('/api/monthly-treasury-balances'),
  order: 'desc',
  columns: [
    { column: 'month' },
    { column: 'asset' },
    { column: 'balance_token' },
    { column: 'balance_usd' },
    { column: 'share' },
    { column: 'balance_native_equivalent' },
    { column: 'chain' },
    { column: 'relay_chain' },
  ],
  empty: 'No balance of a treasury is stored yet. Balances come with snapshots of kind treasury_balance.',
};

export const bounties: ListPage = {
  path: '/governance/bounties',
  tab: 'Bounties',
  title: 'Bounties',
  lead: 'Bounties with the totals of their child bounties; newest first, Polkadot before Kusama.',
  source: sourceOf('/api/gov-parent-bounty-summary'),
  order: 'desc',
  filters: [{ name: 'parent_bounty_id', label: 'Bounty', hint: 'Its number' }],
  columns: [
    { column: 'parent_bounty_id', title: 'Bounty', to: bountyPath },
    { column: 'bounty_status', as: 'state' },
    { column: 'bounty_value' },
    { column: 'curator', as: 'account' },
    { column: 'child_bounty_count' },
    { column: 'child_bounties_claimed' },
    { column: 'total_claimed' },
    { column: 'total_claimed_usd' },
    { column: 'unique_beneficiaries' },
    { column: 'last_claim_at' },
    { column: 'relay_chain' },
  ],
  empty: 'No bounty is stored yet. Bounties come with the blocks of a relay chain and of its asset hub.',
};

export const childBounties: ListPage = {
  path: '/governance/child-bounties',
  tab: 'Child bounties',
  title: 'Child bounties',
  lead: 'Every child bounty with its state, claimed amount and beneficiary. The filters From and Until apply to the day on which the parent bounty began.',
  source: sourceOf('/api/gov-child-bounties'),
  order: 'desc',
  filters: [{ name: 'parent_bounty_id', label: 'Bounty', hint: 'The number of the parent' }],
  columns: [
    { column: 'child_bounty_id', title: 'Child' },
    { column: 'parent_bounty_id', title: 'Bounty', to: bountyPath },
    { column: 'status', as: 'state' },
    { column: 'description' },
    { column: 'value' },
    { column: 'claimed_amount' },
    { column: 'claimed_amount_usd' },
    { column: 'beneficiary', as: 'account' },
    { column: 'added_at' },
    { column: 'claimed_at' },
    { column: 'chain' },
  ],
  empty:
    'No child bounty is stored yet. Child bounties come with the blocks of a relay chain and of its asset hub.',
};

export const governance: ListSection = {
  name: 'Governance',
  pages: [referenda, votes, treasury, bounties, childBounties],
};

function referendumPath({ relay_chain, referendum_index }: ListRow): string {
  return `/governance/referenda/${relay_chain}/${referendum_index}`;
}

/** Results are served for some relay chains, votes for more. */
function votedPath(row: ListRow): string | null {
  const relays: readonly unknown[] = referenda.source.endpoint.relays;
  return relays.includes(row.relay_chain) ? referendumPath(row) : null;
}

function bountyPath({ relay_chain, parent_bounty_id }: ListRow): string {
  return `/governance/bounties/${relay_chain}/${parent_bounty_id}`;
}
