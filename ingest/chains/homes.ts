import type { Chain } from './chain.ts';
import type { Registry } from './registry.ts';

type Movable = 'staking' | 'governance' | 'treasury';

/** Whether the staking, governance or treasury of a relay chain is on this chain on a UTC day: it may move once or more. */
export function isHome(
  { chains }: Pick<Registry, 'chains'>,
  chain: Chain,
  what: Movable,
  day: string,
): boolean {
  const since = chain[what]?.since;
  if (since === undefined || since > day) return false;
  // A solo chain moves nothing to another chain.
  if (chain.relay_chain === 'solo') return true;
  return !chains.some((other) => {
    const moved = other.relay_chain === chain.relay_chain ? other[what]?.since : undefined;
    return moved !== undefined && moved > since && moved <= day;
  });
}

/** Whether it was on no other chain before. */
export function isFirstHome({ chains }: Pick<Registry, 'chains'>, chain: Chain, what: Movable): boolean {
  const since = chain[what]?.since;
  if (since === undefined) return false;
  if (chain.relay_chain === 'solo') return true;
  return !chains.some((other) => {
    const earlier = other.relay_chain === chain.relay_chain ? other[what]?.since : undefined;
    return earlier !== undefined && earlier < since;
  });
}
