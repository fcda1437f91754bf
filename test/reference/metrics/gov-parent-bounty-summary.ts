import { printAccount } from '../accounts.ts';
import { type Bounty, bountiesOf } from '../bounties.ts';
import { isoOf } from '../calendar.ts';
import { governmentsOf } from '../governance.ts';
import type { Input } from '../input.ts';
import { amountFields } from '../money.ts';
import { decimalToNumber, quotient, sum, sumKnown } from '../numbers.ts';
import { compareKeys, distinct } from '../rows.ts';
import { claimedUsd, startDate } from './gov-child-bounty.ts';

export type GovParentBountySummary = {
  relay_chain: string;
  chain: string;
  parent_bounty_id: number;
  bounty_value: number | null;
  bounty_value_planck: string | null;
  parent_bounty_start_date: string | null;
  child_bounty_count: number;
  child_bounties_added: number;
  child_bounties_awarded: number;
  child_bounties_claimed: number;
  child_bounties_canceled: number;
  total_claimed: number | null;
  total_claimed_planck: string | null;
  total_claimed_usd: number | null;
  average_claimed: number | null;
  unique_beneficiaries: number;
  top_beneficiary: string | null;
  top_beneficiary_claimed: number | null;
  top_beneficiary_claimed_planck: string | null;
  first_claim_at: string | null;
  last_claim_at: string | null;
};

export function govParentBountySummary(input: Input): GovParentBountySummary[] {
  return governmentsOf(input, ['polkadot', 'kusama', 'solo'])
    .flatMap((government) => bountiesOf(government).map((bounty) => rowOf(input, bounty)))
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

const keyOf = (row: GovParentBountySummary) => [row.relay_chain, row.chain, row.parent_bounty_id];

function rowOf(input: Input, bounty: Bounty): GovParentBountySummary {
  const { chain } = bounty.last;
  const claims = bounty.children.filter(({ claimed }) => claimed !== null);
  const total = sum(claims.map(({ payout }) => payout ?? 0n));
  const times = claims.map(({ claimed }) => claimed?.time ?? 0);
  const added = bounty.children.filter((child) => child.added !== null).length;
  const top = topBeneficiary(bounty);
  return {
    relay_chain: chain.relay,
    chain: chain.name,
    parent_bounty_id: bounty.id,
    ...amountFields('bounty_value', bounty.value, chain),
    parent_bounty_start_date: startDate(bounty),
    child_bounty_count: added,
    child_bounties_added: added,
    child_bounties_awarded: bounty.children.filter(({ awarded }) => awarded !== null).length,
    child_bounties_claimed: claims.length,
    child_bounties_canceled: bounty.children.filter(({ isCanceled }) => isCanceled).length,
    ...amountFields('total_claimed', total, chain),
    total_claimed_usd: decimalToNumber(sumKnown(claims.map((claim) => claimedUsd(input, claim)))),
    average_claimed:
      claims.length === 0 ? null : quotient(total, BigInt(claims.length) * 10n ** BigInt(chain.decimals)),
    unique_beneficiaries: distinct(claims.map(({ beneficiary }) => beneficiary)).size,
    top_beneficiary: top && printAccount(top.account, chain),
    ...amountFields('top_beneficiary_claimed', top?.claimed ?? null, chain),
    first_claim_at: times.length === 0 ? null : isoOf(Math.min(...times)),
    last_claim_at: times.length === 0 ? null : isoOf(Math.max(...times)),
  };
}

/** Who got most, and of several the one with the least key. */
function topBeneficiary({ children }: Bounty): { account: string; claimed: bigint } | null {
  const claims = children.filter(({ claimed, beneficiary }) => claimed !== null && beneficiary !== null);
  const sums = [...Map.groupBy(claims, ({ beneficiary }) => beneficiary ?? '')].map(([account, of]) => ({
    account,
    claimed: sum(of.map(({ payout }) => payout ?? 0n)),
  }));
  const [top] = sums.toSorted((a, b) =>
    a.claimed === b.claimed ? compareKeys([a.account], [b.account]) : a.claimed > b.claimed ? -1 : 1,
  );
  return top ?? null;
}
