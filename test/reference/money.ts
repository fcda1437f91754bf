import { dayOf } from './calendar.ts';
import type { Block } from './facts.ts';
import type { Input } from './input.ts';
import { type Decimal, multiply, shift, sum, sumKnown, toTokens } from './numbers.ts';
import type { Chain } from './registry.ts';
import type { Group } from './rows.ts';

/** The fees of one chain in one day that are known, in planck; null when there are fees and none is known. */
export function feesOf(blocks: readonly Block[]): bigint | null {
  const bearing = blocks.flatMap((block) => block.extrinsics).filter(({ bearsFee }) => bearsFee);
  const known = bearing.map(({ fee }) => fee).filter((fee) => fee !== null);
  return bearing.length > 0 && known.length === 0 ? null : sum(known);
}

/** What an amount of one chain is; null when it is unknown. */
export type AmountOf = (blocks: readonly Block[]) => bigint | null;

/** An amount in whole tokens. Chains of a relay have different tokens, which do not add up. */
export function nativeAmount(group: Group, amountOf: AmountOf): number | null {
  const [part] = group.parts;
  if (group.isEcosystem || !part) return null;
  const planck = amountOf(part.blocks);
  return planck === null ? null : toTokens(planck, part.chain.decimals);
}

/** The value of an amount at the price of its day, exact; null when no part of the group has both. */
export function usdAmount(input: Input, group: Group, amountOf: AmountOf): Decimal | null {
  return sumKnown(
    group.parts.map(({ chain, blocks }) => {
      const planck = amountOf(blocks);
      return planck === null ? null : worthOn(input, chain, group.period, planck);
    }),
  );
}

/** The last price of the chain's token in a day, whichever chain it was recorded for. */
export function priceOn(input: Input, chain: Chain, date: string): Decimal | null {
  return priceOf(input, chain.symbol, date);
}

/** The last price of a token in a day. */
export function priceOf(input: Input, token: string, date: string): Decimal | null {
  const prices = input.snapshots
    .map(({ price }) => price)
    .filter((price) => price !== null)
    .filter(({ symbol, asOf }) => symbol === token && dayOf(asOf) === date);
  const latest = Math.max(...prices.map(({ asOf }) => asOf));
  return prices.findLast(({ asOf }) => asOf === latest)?.usd ?? null;
}

/** What an amount in planck was worth on a day; null without a price. */
export function worthOn(input: Input, chain: Chain, date: string, planck: bigint): Decimal | null {
  const usd = priceOn(input, chain, date);
  return usd && shift(multiply(usd, planck), chain.decimals);
}

/** An amount under its name in whole tokens, and under that name with `_planck` as all its digits. */
export function amountFields<Name extends string>(name: Name, planck: bigint | null, chain: Chain) {
  return {
    [name]: planck === null ? null : toTokens(planck, chain.decimals),
    [`${name}_planck`]: planck === null ? null : planck.toString(),
  } as Record<Name, number | null> & Record<`${Name}_planck`, string | null>;
}
