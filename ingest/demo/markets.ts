import type { Random } from './random.ts';

interface DemoToken {
  readonly symbol: string;
  usd: number;
  /** Typical relative change in a day. */
  readonly swing: number;
}

/** Days of the history without prices, and without a price of KSM. */
const UNPRICED = new Set([46, 47, 170]);
const UNPRICED_KSM = new Set([110, 174]);

/** Prices of tokens and locked value, as correlated random walks. */
export class Markets {
  readonly #random: Random;
  readonly #tokens: readonly DemoToken[] = [
    { symbol: 'DOT', usd: 4.1, swing: 0.031 },
    { symbol: 'KSM', usd: 15.4, swing: 0.034 },
    { symbol: 'GLMR', usd: 0.071, swing: 0.042 },
    { symbol: 'HDX', usd: 0.0098, swing: 0.03 },
    { symbol: 'MYTH', usd: 0.09, swing: 0.04 },
    { symbol: 'USDC', usd: 1, swing: 0 },
    { symbol: 'USDT', usd: 1, swing: 0 },
  ];
  /** Locked value by chain, in US dollars. */
  readonly #locked = new Map([
    ['asset-hub-polkadot', 31e6],
    ['hydration', 178e6],
    ['acala', 22e6],
    ['astar', 16e6],
    ['bifrost', 64e6],
  ]);

  constructor(random: Random) {
    this.#random = random;
  }

  /** Advances by a day. */
  nextDay(): void {
    const random = this.#random;
    const shared = bell(random) + 0.02;
    for (const token of this.#tokens) {
      if (token.swing === 0) token.usd = 1 + bell(random) * 0.0006;
      else token.usd *= Math.exp(token.swing * (0.75 * shared + 0.45 * bell(random)));
    }
    for (const [chain, usd] of this.#locked) {
      this.#locked.set(chain, usd * Math.exp(0.018 * (0.7 * shared + 0.6 * bell(random)) + 0.0015));
    }
  }

  /** The prices of a day of the history. */
  prices(day: number): { symbol: string; usd: number }[] {
    if (UNPRICED.has(day)) return [];
    return this.#tokens
      .filter(({ symbol }) => symbol !== 'KSM' || !UNPRICED_KSM.has(day))
      .map(({ symbol, usd }) => ({ symbol, usd: Number(usd.toPrecision(6)) }));
  }

  lockedValues(): { chain: string; tvl_usd: number }[] {
    return [...this.#locked].map(([chain, usd]) => ({ chain, tvl_usd: Math.round(usd * 100) / 100 }));
  }
}

/** A roughly normal number around 0, mostly within 1. */
function bell(random: Random): number {
  return (random.fraction() + random.fraction() + random.fraction() + random.fraction() - 2) * 1.7;
}
