import { dividedDown, PRICE_SCALE, scaledDown } from '../../shared/amounts.ts';

/** The last `treasury_balance` snapshot of a month, with the prices of its day as `[symbol, USD * 10^30]`. */
export interface TreasuryFact {
  readonly relay_chain: string;
  readonly chain: string;
  readonly month: string;
  readonly token: string;
  readonly payload: string;
  readonly prices: readonly (readonly [symbol: string, usdScaled: string])[];
}

interface Balance {
  readonly asset: string;
  readonly decimals: number;
  readonly amount: string;
}

/** An exact number: `digits / 10^scale`. */
interface Exact {
  readonly digits: bigint;
  readonly scale: number;
}

const NONE: Exact = { digits: 0n, scale: 0 };

/** The asset name of the row with the sum of all assets. */
export const TOTAL = 'total';

/** One row per asset of a treasury with its USD value, and one with the total. */
export function treasuryRows({ relay_chain, chain, month, token, payload, prices }: TreasuryFact) {
  const { balances } = JSON.parse(payload) as { balances: readonly Balance[] };
  const priceOf = new Map(
    prices.map(([symbol, usd]) => [symbol, { digits: BigInt(usd), scale: PRICE_SCALE }]),
  );
  const assets = [...sumByAsset(balances)].map(([asset, balance]) => {
    const price = priceOf.get(asset);
    return { asset, balance, usd: price === undefined ? null : times(balance, price) };
  });
  const known = assets.flatMap(({ usd }) => (usd === null ? [] : [usd]));
  const total = known.length === 0 ? null : known.reduce(plus, NONE);
  const nativePrice = priceOf.get(token) ?? null;
  const keys = { relay_chain, chain, month };
  return [
    ...assets.map(({ asset, balance, usd }) => ({
      ...keys,
      asset,
      balance_token: toDouble(balance),
      balance_usd: usd === null ? null : toDouble(usd),
      share: ratio(usd, total),
      balance_native_equivalent: asset === token ? toDouble(balance) : ratio(usd, nativePrice),
    })),
    {
      ...keys,
      asset: TOTAL,
      balance_token: null,
      balance_usd: total === null ? null : toDouble(total),
      share: total === null ? null : 1,
      balance_native_equivalent: ratio(total, nativePrice),
    },
  ];
}

/** The balance of each asset over all accounts. */
function sumByAsset(balances: readonly Balance[]): Map<string, Exact> {
  const sums = new Map<string, Exact>();
  for (const { asset, amount, decimals } of balances) {
    sums.set(asset, plus(sums.get(asset) ?? NONE, { digits: BigInt(amount), scale: decimals }));
  }
  return sums;
}

const toDouble = ({ digits, scale }: Exact) => scaledDown(digits, scale);
const times = (a: Exact, b: Exact): Exact => ({ digits: a.digits * b.digits, scale: a.scale + b.scale });

function plus(a: Exact, b: Exact): Exact {
  const scale = Math.max(a.scale, b.scale);
  return { digits: digitsAt(a, scale) + digitsAt(b, scale), scale };
}

const digitsAt = ({ digits, scale }: Exact, finer: number) => digits * 10n ** BigInt(finer - scale);

/** Null when a number is unknown or the divisor is 0. */
function ratio(part: Exact | null, whole: Exact | null): number | null {
  if (part === null || whole === null || whole.digits === 0n) return null;
  const scale = Math.max(part.scale, whole.scale);
  return dividedDown(digitsAt(part, scale), digitsAt(whole, scale), 0);
}
