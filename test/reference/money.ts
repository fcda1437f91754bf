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
function priceOn(input: Input, chain: Chain, date: string): Decimal | null {
  const prices = input.snapshots
    .map(({ price }) => price)
    .filter((price) => price !== null)
    .filter(({ symbol, asOf }) => symbol === chain.symbol && dayOf(asOf) === date);
  const latest = Math.max(...prices.map(({ asOf }) => asOf));
  return prices.findLast(({ asOf }) => asOf === latest)?.usd ?? null;
}
