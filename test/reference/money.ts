import { dayOf } from './calendar.ts';
import type { Block } from './facts.ts';
import type { Input } from './input.ts';
import { type Decimal, multiply, shift, sum, sumKnown, toTokens } from './numbers.ts';
import type { Chain } from './registry.ts';
import type { Group } from './rows.ts';

/** The fees of these blocks that are known, in planck. */
export function feesOf(blocks: readonly Block[]): bigint {
  return sum(blocks.flatMap((block) => block.extrinsics.map(({ fee }) => fee ?? 0n)));
}

/** An amount in whole tokens. Chains of a relay have different tokens, which do not add up. */
export function nativeAmount(group: Group, amountOf: (blocks: readonly Block[]) => bigint): number | null {
  const [part] = group.parts;
  if (group.isEcosystem || !part) return null;
  return toTokens(amountOf(part.blocks), part.chain.decimals);
}

/** The value of an amount at the price of its day, exact; null when no part of the group has a price. */
export function usdAmount(
  input: Input,
  group: Group,
  amountOf: (blocks: readonly Block[]) => bigint,
): Decimal | null {
  return sumKnown(
    group.parts.map(({ chain, blocks }) => {
      const usd = priceOn(input, chain, group.period);
      return usd && shift(multiply(usd, amountOf(blocks)), chain.decimals);
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
