import type { Chain } from './chain.ts';
import type { Registry } from './registry.ts';

type Movable = 'staking' | 'governance' | 'treasury';

/** Whether the staking, governance or treasury of a relay chain, which may move, is on this chain on a UTC day. */
export function isHome(
  { chains }: Pick<Registry, 'chains'>,
  chain: Chain,
  what: Movable,
  day: string,
): boolean {
  const since = chain[what]?.since;
  if (since === undefined || since > day) return false;
  // Staking, governance and treasury of a solo chain never move to another chain.
  if (chain.relay_chain === 'solo') return true;
  return !chains.some((other) => {
    const moved = other.relay_chain === chain.relay_chain ? other[what]?.since : undefined;
    return moved !== undefined && moved > since && moved <= day;
  });
}

/** Whether this chain was the first one with that staking, governance or treasury. */
export function isFirstHome({ chains }: Pick<Registry, 'chains'>, chain: Chain, what: Movable): boolean {
  const since = chain[what]?.since;
  if (since === undefined) return false;
  if (chain.relay_chain === 'solo') return true;
  return !chains.some((other) => {
    const earlier = other.relay_chain === chain.relay_chain ? other[what]?.since : undefined;
    return earlier !== undefined && earlier < since;
  });
}
