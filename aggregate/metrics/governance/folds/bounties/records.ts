import { isoDay } from '../../../../../infra/days.ts';
import { dividedDown, USD_SCALE } from '../../../shared/amounts.ts';
import { Chains, usdOrNull } from '../../../shared/chains.ts';
import { type Fact, isoTimeOf, type Moment } from '../../../shared/facts.ts';
import { type Bounty, foldBounties } from './bounties.ts';
import type { ChildBounty } from './child-bounties.ts';

type Row = Readonly<Record<string, unknown>>;

export function childBountyRecords(relayChain: string, rows: readonly Fact[]): Row[] {
  return bountyRows(relayChain, rows, (bounty, chains) =>
    [...Map.groupBy(bounty.children, ({ id }) => id).values()].flatMap((ofId) =>
      ofId.map((child, opening) => ({ ...childRow(bounty, child, chains), opening })),
    ),
  );
}

/** Every bounty with the sums of its child bounties. */
export function bountySummaries(relayChain: string, rows: readonly Fact[]): Row[] {
  return bountyRows(relayChain, rows, (bounty, chains) => [summaryRow(bounty, chains)]);
}

function bountyRows(
  relayChain: string,
  rows: readonly Fact[],
  toRows: (bounty: Bounty, chains: Chains) => Row[],
): Row[] {
  const chains = new Chains(relayChain, rows);
  return [...foldBounties(rows).values()]
    .flatMap((bounty) => toRows(bounty, chains))
    .map((record) => ({ relay_chain: relayChain, ...record }));
}

const startOf = ({ activeSince, proposed }: Bounty): string | null => dayOrNull(activeSince ?? proposed);
const dayOrNull = (moment: Moment | null) => moment && isoDay(moment.at);
const timeOrNull = (moment: Moment | null) => moment && isoTimeOf(moment.at);

function childRow(bounty: Bounty, child: ChildBounty, chains: Chains): Row {
  const { chain } = child.last;
  const native = (planck: bigint | null) => (planck === null ? null : chains.native(planck, chain));
  return {
    chain,
    parent_bounty_id: bounty.id,
    child_bounty_id: child.id,
    status: child.status,
    value: native(child.value),
    value_planck: exact(child.value),
    curator_fee: native(child.fee),
    curator_fee_planck: exact(child.fee),
    claimed_amount: native(child.payout),
    claimed_amount_planck: exact(child.payout),
    claimed_amount_usd: usdOrNull(worthOf(child, chains)),
    beneficiary: child.beneficiary && chains.address(child.beneficiary, chain),
    description: child.description,
    added_at: timeOrNull(child.added),
    awarded_at: timeOrNull(child.awarded),
    claimed_at: timeOrNull(child.claimed),
    parent_bounty_start_date: startOf(bounty),
  };
}

/** The USD value of a claim on its day; null without a claim or a price. */
function worthOf({ payout, claimed }: ChildBounty, chains: Chains): bigint | null {
  return payout === null || claimed === null ? null : chains.usdValue(payout, claimed.chain, claimed.at);
}

interface Claims {
  count: number;
  total: bigint;
  /** USD value of the claims whose day has a price. */
  worth: bigint | null;
  priced: number;
}

const noClaims = (): Claims => ({ count: 0, total: 0n, worth: null, priced: 0 });

function addClaim(claims: Claims, child: ChildBounty, chains: Chains): void {
  claims.count++;
  claims.total += child.payout ?? 0n;
  const worth = worthOf(child, chains);
  if (worth === null) return;
  claims.worth = (claims.worth ?? 0n) + worth;
  claims.priced++;
}

function summaryRow(bounty: Bounty, chains: Chains): Row {
  const { chain } = bounty.last;
  const native = (planck: bigint | null) => (planck === null ? null : chains.native(planck, chain));
  const { children } = bounty;
  const claimed = children.filter((child) => child.claimed !== null);
  const all = noClaims();
  for (const child of claimed) addClaim(all, child, chains);
  const beneficiaries = claimsByBeneficiary(claimed, chains);
  const [top] = [...beneficiaries].sort(byTotalThenKey);
  const times = claimed.map(({ claimed }) => claimed as Moment).sort((a, b) => a.order - b.order);
  const averageWorth = all.worth === null ? null : dividedDown(all.worth, BigInt(all.priced), USD_SCALE);
  return {
    chain,
    parent_bounty_id: bounty.id,
    bounty_status: bounty.status,
    bounty_value: native(bounty.value),
    bounty_value_planck: exact(bounty.value),
    curator: bounty.curator && chains.address(bounty.curator, chain),
    parent_bounty_start_date: startOf(bounty),
    child_bounty_count: bounty.added,
    child_bounties_added: children.filter(({ added }) => added !== null).length,
    child_bounties_awarded: children.filter(({ awarded }) => awarded !== null).length,
    child_bounties_claimed: all.count,
    child_bounties_canceled: children.filter(({ canceled }) => canceled !== null).length,
    total_claimed: native(all.total),
    total_claimed_planck: exact(all.total),
    total_claimed_usd: usdOrNull(all.worth),
    average_claimed:
      all.count === 0 ? null : dividedDown(all.total, BigInt(all.count), chains.decimals(chain)),
    average_claimed_usd: averageWorth,
    unique_beneficiaries: beneficiaries.size,
    top_beneficiary: top ? chains.address(top[0], chain) : null,
    top_beneficiary_claimed: top ? native(top[1].total) : null,
    top_beneficiary_claimed_planck: top ? exact(top[1].total) : null,
    top_beneficiary_claimed_usd: top ? usdOrNull(top[1].worth) : null,
    first_claim_at: timeOrNull(times[0] ?? null),
    last_claim_at: timeOrNull(times.at(-1) ?? null),
  };
}

function claimsByBeneficiary(claimed: readonly ChildBounty[], chains: Chains): Map<string, Claims> {
  const claims = new Map<string, Claims>();
  for (const child of claimed) {
    if (child.beneficiary === null) continue;
    const ofBeneficiary = claims.get(child.beneficiary) ?? noClaims();
    claims.set(child.beneficiary, ofBeneficiary);
    addClaim(ofBeneficiary, child, chains);
  }
  return claims;
}

function byTotalThenKey([key, claims]: [string, Claims], [otherKey, other]: [string, Claims]): number {
  if (claims.total !== other.total) return claims.total > other.total ? -1 : 1;
  return key < otherKey ? -1 : 1;
}

const exact = (planck: bigint | null): string | null => planck?.toString() ?? null;
