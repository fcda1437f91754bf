import { dayOf, isWithinDays } from '../calendar.ts';
import type { Block } from '../facts.ts';
import type { Input } from '../input.ts';
import { feesOf, nativeAmount, usdAmount } from '../money.ts';
import { decimalToNumber, quotient, sum, sumKnown } from '../numbers.ts';
import { allGroups, type Group } from '../rows.ts';

const WINDOW_DAYS = 30;

export type DailyFees = {
  relay_chain: string;
  chain: string;
  date: string;
  total_fees: number | null;
  total_fees_planck: string | null;
  total_fees_usd: number | null;
  total_fees_usd_30d: number | null;
  priced_days_30d: number;
  total_fees_30d: number | null;
  total_tips: number | null;
  num_fee_paying: number;
  avg_fee: number | null;
  fee_unknown: number;
};

export function dailyFees(input: Input): DailyFees[] {
  const days = allGroups(input.blocks, dayOf).map((group) => ({
    group,
    usd: usdAmount(input, group, feesOf),
  }));
  return days.map(({ group, usd }) => {
    const window = days.filter(
      (day) => isSameRow(day.group, group) && isWithinDays(day.group.period, WINDOW_DAYS, group.period),
    );
    const feesOfWindow = window.map((day) => feesOf(day.group.blocks)).filter((fees) => fees !== null);
    const fees = group.blocks.flatMap((block) => block.extrinsics.map(({ fee }) => fee));
    return {
      relay_chain: group.relay,
      chain: group.chain,
      date: group.period,
      total_fees: nativeAmount(group, feesOf),
      total_fees_planck: group.isEcosystem ? null : (feesOf(group.blocks)?.toString() ?? null),
      total_fees_usd: decimalToNumber(usd),
      total_fees_usd_30d: decimalToNumber(sumKnown(window.map((day) => day.usd))),
      priced_days_30d: window.filter((day) => day.usd !== null).length,
      total_fees_30d: nativeAmount(group, () => (feesOfWindow.length === 0 ? null : sum(feesOfWindow))),
      total_tips: nativeAmount(group, tipsOf),
      num_fee_paying: fees.filter(isPaid).length,
      avg_fee: averageFee(group),
      fee_unknown: fees.filter((fee) => fee === null).length,
    };
  });
}

function isSameRow(a: Group, b: Group): boolean {
  return a.relay === b.relay && a.chain === b.chain;
}

function isPaid(fee: bigint | null): boolean {
  return fee !== null && fee > 0n;
}

function tipsOf(blocks: readonly Block[]): bigint {
  return sum(blocks.flatMap((block) => block.extrinsics.map(({ tip }) => tip)));
}

/** Rounded once: the fraction of planck over payers and planck of a token is taken whole. */
function averageFee(group: Group): number | null {
  const [part] = group.parts;
  const payers = group.blocks.flatMap((block) => block.extrinsics).filter(({ fee }) => isPaid(fee)).length;
  const fees = part ? feesOf(part.blocks) : null;
  if (group.isEcosystem || !part || fees === null || payers === 0) return null;
  return quotient(fees, BigInt(payers) * 10n ** BigInt(part.chain.decimals));
}
