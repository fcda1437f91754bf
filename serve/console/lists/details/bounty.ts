import type { FastifyReply } from 'fastify';
import { html } from '../../../pages/html.ts';
import { inWords, state } from '../cells.ts';
import type { ListVisit } from '../frame.ts';
import { bounties, childBounties, governance } from '../governance.ts';
import { facts } from '../table-parts.ts';
import { indexOf, notFound, related, relayOf, rowOf, sendDetail } from './detail.ts';

/** A bounty with its child bounties. */
export async function sendBounty(
  visit: ListVisit,
  address: { readonly relay: string; readonly id: string },
): Promise<FastifyReply> {
  const relay = relayOf(address.relay, bounties);
  const number = indexOf(address.id);
  const wanted = { values: { parent_bounty_id: String(number) }, scope: { relay_chain: relay } };
  const row = await rowOf(visit, bounties, wanted);
  if (row === null) throw notFound(`Bounty ${number} of ${inWords(relay)} is not stored.`);
  const context = { source: bounties.source, registry: visit.registry };
  const network = inWords(relay);
  return sendDetail(visit, {
    section: governance,
    list: bounties,
    title: `Bounty ${number} of ${network}`,
    description: `State, claims and child bounties of bounty ${number} of ${network}.`,
    states: row.bounty_status === null ? null : state(String(row.bounty_status)),
    body: html`<div class="pair"><section class="card"><h2>Bounty</h2>${facts({ ...context, columns: BOUNTY }, row)}</section>
<section class="card"><h2>Claims</h2>${facts({ ...context, columns: CLAIMS }, row)}</section></div>
${await related(visit, {
  title: 'Child bounties',
  page: childBounties,
  wanted,
  without: ['parent_bounty_id', 'chain'],
  empty: 'This bounty has no child bounty.',
  all: `${childBounties.path}?parent_bounty_id=${number}`,
})}`,
  });
}

const BOUNTY = [
  { column: 'bounty_value' },
  { column: 'curator', as: 'account' },
  { column: 'parent_bounty_start_date' },
  { column: 'child_bounty_count' },
  { column: 'child_bounties_awarded' },
  { column: 'child_bounties_claimed' },
  { column: 'child_bounties_canceled' },
  { column: 'chain' },
] as const;

const CLAIMS = [
  { column: 'total_claimed' },
  { column: 'total_claimed_usd' },
  { column: 'average_claimed' },
  { column: 'unique_beneficiaries' },
  { column: 'top_beneficiary', as: 'account' },
  { column: 'top_beneficiary_claimed' },
  { column: 'first_claim_at' },
  { column: 'last_claim_at' },
] as const;
