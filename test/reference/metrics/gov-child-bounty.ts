import { printAccount } from '../accounts.ts';
import { type Bounty, bountiesOf, type ChildBounty, type ChildStatus } from '../bounties.ts';
import { dayOf, isoOf } from '../calendar.ts';
import { governmentsOf } from '../governance.ts';
import type { Input } from '../input.ts';
import { amountFields, worthOn } from '../money.ts';
import { type Decimal, decimalToNumber } from '../numbers.ts';
import { compareKeys } from '../rows.ts';

export type GovChildBounty = {
  relay_chain: string;
  chain: string;
  parent_bounty_id: number;
  child_bounty_id: number;
  status: ChildStatus;
  value: number | null;
  value_planck: string | null;
  curator_fee: number | null;
  curator_fee_planck: string | null;
  claimed_amount: number | null;
  claimed_amount_planck: string | null;
  claimed_amount_usd: number | null;
  beneficiary: string | null;
  description: string | null;
  added_at: string | null;
  awarded_at: string | null;
  claimed_at: string | null;
  parent_bounty_start_date: string | null;
};

export function govChildBounty(input: Input): GovChildBounty[] {
  return governmentsOf(input, ['polkadot', 'kusama', 'solo'])
    .flatMap((government) =>
      bountiesOf(government).flatMap((bounty) => bounty.children.map((child) => rowOf(input, bounty, child))),
    )
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

const keyOf = (row: GovChildBounty) => [
  row.relay_chain,
  row.chain,
  row.parent_bounty_id,
  row.child_bounty_id,
];

function rowOf(input: Input, bounty: Bounty, child: ChildBounty): GovChildBounty {
  const { chain } = child.last;
  return {
    relay_chain: chain.relay,
    chain: chain.name,
    parent_bounty_id: bounty.id,
    child_bounty_id: child.child,
    status: child.status,
    ...amountFields('value', child.value, chain),
    ...amountFields('curator_fee', child.curatorFee, chain),
    ...amountFields('claimed_amount', child.payout, chain),
    claimed_amount_usd: decimalToNumber(claimedUsd(input, child)),
    beneficiary: child.beneficiary && printAccount(child.beneficiary, chain),
    description: child.description,
    added_at: child.added && isoOf(child.added.time),
    awarded_at: child.awarded && isoOf(child.awarded.time),
    claimed_at: child.claimed && isoOf(child.claimed.time),
    parent_bounty_start_date: startDate(bounty),
  };
}

/** What a child bounty paid out was worth on the day of the claim. */
export function claimedUsd(input: Input, { claimed, payout }: ChildBounty): Decimal | null {
  return claimed && payout !== null ? worthOn(input, claimed.chain, dayOf(claimed.time), payout) : null;
}

export function startDate({ active, proposed }: Bounty): string | null {
  const start = active ?? proposed;
  return start && dayOf(start.time);
}
