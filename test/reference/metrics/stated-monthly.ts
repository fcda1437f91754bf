import { dayOf } from '../calendar.ts';
import type { Input } from '../input.ts';
import { priceOf } from '../money.ts';
import { type Decimal, decimalToNumber, multiply, quotient, shift, sumKnown, toTokens } from '../numbers.ts';
import { findChain } from '../registry.ts';
import { compareKeys } from '../rows.ts';
import { lastOfMonths, type Stated } from '../snapshots.ts';

/** Monthly rows that repeat what snapshots say. */

export type MonthlyActiveValidators = {
  relay_chain: string;
  chain: string;
  month: string;
  number_of_active_validators: number;
  number_of_waiting_validators: number;
  number_of_nominators: number;
};

export function monthlyActiveValidators(input: Input): MonthlyActiveValidators[] {
  return lastOfMonths(input, 'validator_set')
    .filter(({ relay }) => ['polkadot', 'kusama', 'solo'].includes(relay))
    .map(({ period, relay, chain, payload }) => ({
      relay_chain: relay,
      chain,
      month: period,
      number_of_active_validators: payload.list('active').length,
      number_of_waiting_validators: payload.index('waiting'),
      number_of_nominators: payload.index('nominators'),
    }));
}

export type MonthlyPercentStaked = {
  relay_chain: string;
  chain: string;
  month: string;
  block_number: number;
  total_issuance: number;
  total_staked: number;
  percentage_staked: number | null;
};

export function monthlyPercentStaked(input: Input): MonthlyPercentStaked[] {
  const staked = lastOfMonths(input, 'staking_state');
  return lastOfMonths(input, 'issuance')
    .filter(({ relay }) => relay === 'polkadot')
    .flatMap(({ period, relay, chain, snapshot, payload }) => {
      const state = staked.find((one) => one.period === period && one.chain === chain);
      if (!state) return [];
      const decimals = findChain(chain)?.decimals ?? 0;
      const [issued, stake] = [payload.amount('total'), state.payload.amount('staked')];
      return [
        {
          relay_chain: relay,
          chain,
          month: period,
          block_number: snapshot.blockNumber,
          total_issuance: toTokens(issued, decimals),
          total_staked: toTokens(stake, decimals),
          percentage_staked: issued === 0n ? null : quotient(stake, issued),
        },
      ];
    });
}

export type MonthlyTreasuryBalances = {
  relay_chain: string;
  chain: string;
  month: string;
  asset: string;
  balance_token: number | null;
  balance_usd: number | null;
  share: number | null;
  balance_native_equivalent: number | null;
};

export function monthlyTreasuryBalances(input: Input): MonthlyTreasuryBalances[] {
  return lastOfMonths(input, 'treasury_balance')
    .filter(({ relay }) => ['polkadot', 'kusama', 'solo'].includes(relay))
    .flatMap((stated) => treasuryRows(input, stated))
    .sort((a, b) => compareKeys(keyOf(a), keyOf(b)));
}

const keyOf = (row: MonthlyTreasuryBalances) => [row.month, row.relay_chain, row.chain, row.asset];

function treasuryRows(input: Input, { period, relay, chain, snapshot, payload }: Stated) {
  const date = dayOf(snapshot.asOf);
  const own = findChain(chain)?.symbol;
  const ownPrice = own === undefined ? null : priceOf(input, own, date);
  const byAsset = Map.groupBy(payload.items('balances'), (balance) => balance.text('asset'));
  const assets = [...byAsset].map(([asset, balances]) => {
    const balance = sumKnown(
      balances.map((one) => ({ digits: one.amount('amount'), scale: one.index('decimals') })),
    );
    const price = priceOf(input, asset, date);
    const usd = balance && price && shift(multiply(price, balance.digits), balance.scale);
    return { asset, balance, usd };
  });
  const total = sumKnown(assets.map(({ usd }) => usd));
  const row = { relay_chain: relay, chain, month: period };
  return [
    ...assets.map(({ asset, balance, usd }) => ({
      ...row,
      asset,
      balance_token: decimalToNumber(balance),
      balance_usd: decimalToNumber(usd),
      share: divide(usd, total),
      balance_native_equivalent: asset === own ? decimalToNumber(balance) : divide(usd, ownPrice),
    })),
    {
      ...row,
      asset: 'total',
      balance_token: null,
      balance_usd: decimalToNumber(total),
      share: total === null ? null : 1,
      balance_native_equivalent: divide(total, ownPrice),
    },
  ];
}

/** A quotient rounded once; null when a part is unknown or nothing can be divided by it. */
function divide(a: Decimal | null, b: Decimal | null): number | null {
  if (a === null || b === null || b.digits === 0n) return null;
  return quotient(a.digits * 10n ** BigInt(b.scale), b.digits * 10n ** BigInt(a.scale));
}
