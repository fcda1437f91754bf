import type { Input } from '../input.ts';
import { decimalToNumber, quotient, toTokens } from '../numbers.ts';
import { findChain } from '../registry.ts';
import { compareKeys } from '../rows.ts';
import { lastOfDays, type Stated } from '../snapshots.ts';

/** Daily rows that repeat what snapshots say. */

export type DailyStakingParticipation = {
  relay_chain: string;
  chain: string;
  date: string;
  source_chain: string;
  number_of_validators: number;
  number_of_nominators: number;
  number_of_pool_members: number;
  number_of_pools: number;
  number_of_addresses_staking: number;
  staked_native: number;
  staked_native_in_pools: number;
  unbonding_native: number;
  minimum_nominator_active_stake: number;
};

export function dailyStakingParticipation(input: Input): DailyStakingParticipation[] {
  return lastOfDays(input, 'staking_state')
    .filter(({ relay }) => relay === 'polkadot')
    .map(({ period, relay, chain, payload }) => {
      const native = (field: string) => toTokens(payload.amount(field), findChain(chain)?.decimals ?? 0);
      return {
        relay_chain: relay,
        chain,
        date: period,
        source_chain: chain,
        number_of_validators: payload.index('validators'),
        number_of_nominators: payload.index('nominators'),
        number_of_pool_members: payload.index('pool_members'),
        number_of_pools: payload.index('pools'),
        number_of_addresses_staking: payload.index('addresses_staking'),
        staked_native: native('staked'),
        staked_native_in_pools: native('staked_in_pools'),
        unbonding_native: native('unbonding'),
        minimum_nominator_active_stake: native('min_active_stake'),
      };
    });
}

/** The relay chain's own series goes on with its asset hub on days that only that has. */
export function stakingOfRelay(input: Input): DailyStakingParticipation[] {
  const rows = dailyStakingParticipation(input);
  const own = rows.filter(({ chain }) => chain === 'polkadot');
  const ofHub = rows.filter(
    ({ chain, date }) => chain === 'asset-hub-polkadot' && !own.some((row) => row.date === date),
  );
  return [...own, ...ofHub.map((row) => ({ ...row, chain: 'polkadot' }))].sort((a, b) =>
    compareKeys([a.date], [b.date]),
  );
}

const DEFI_CHAINS = ['asset-hub-polkadot', 'hydration', 'acala', 'astar', 'bifrost'];

export type DefiTvl = { relay_chain: string; chain: string; date: string; tvl_usd: number | null };

export function defiTvl(input: Input): DefiTvl[] {
  return lastOfDays(input, 'tvl')
    .filter(({ chain }) => DEFI_CHAINS.includes(chain))
    .map(({ period, relay, chain, payload }) => ({
      relay_chain: relay,
      chain,
      date: period,
      tvl_usd: decimalToNumber(payload.usd('tvl_usd')),
    }))
    .sort((a, b) => compareKeys([a.date, a.chain], [b.date, b.chain]));
}

type Held = { relay_chain: string; chain: string; date: string };

export const dailyCoinA = (input: Input): (Held & { sum_of_coin_a: number })[] =>
  heldCoins(input, 'coin_a').map(({ row, sum }) => ({ ...row, sum_of_coin_a: sum }));

export const dailyCoinB = (input: Input): (Held & { sum_of_coin_b: number })[] =>
  heldCoins(input, 'coin_b').map(({ row, sum }) => ({ ...row, sum_of_coin_b: sum }));

function heldCoins(input: Input, coin: string): readonly { row: Held; sum: number }[] {
  return lastOfDays(input, 'stable_holdings')
    .filter(({ relay }) => relay === 'polkadot')
    .flatMap((stated) => {
      const { period, relay, chain } = stated;
      const sum = heldIn(stated, coin);
      return sum === null ? [] : [{ row: { relay_chain: relay, chain, date: period }, sum }];
    });
}

/** What a chain holds of a coin in all the assets that stand for it; null when it has none of them. */
function heldIn({ payload }: Stated, coin: string): number | null {
  const holdings = payload.items('holdings').filter((holding) => holding.text('coin') === coin);
  if (holdings.length === 0) return null;
  const places = Math.max(...holdings.map((holding) => holding.index('decimals')));
  const units = holdings.map((holding) => {
    const held = holding.amount('issuance') - holding.amount('sovereign_held');
    return held * 10n ** BigInt(places - holding.index('decimals'));
  });
  return quotient(
    units.reduce((total, held) => total + held, 0n),
    10n ** BigInt(places),
  );
}
