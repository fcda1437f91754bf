import { isoDay } from '../../../infra/days.ts';
import { encodeAddress } from '../../../ingest/chains/address.ts';
import { scaledDown, usd, usdExact } from './amounts.ts';
import type { Fact } from './facts.ts';

/** Rows of chains and prices, which precede all other facts. */
type ChainRow = Pick<Fact, 'kind' | 'chain' | 'name' | 'data'>;

interface ChainFacts {
  readonly token: string;
  readonly decimals: number;
  readonly prefix: number;
}

/** Encodes accounts and converts amounts in folds, with the registry and the prices of a relay chain. */
export class Chains {
  readonly #chains = new Map<string, ChainFacts>();
  /** Exact prices by `token day`. */
  readonly #prices = new Map<string, bigint>();
  readonly #addresses = new Map<string, string>();
  readonly #relayChain: string;

  constructor(relayChain: string, rows: readonly ChainRow[]) {
    this.#relayChain = relayChain;
    for (const { kind, chain, name, data } of rows) {
      if (kind === 'chain') {
        const [token = '', decimals, prefix] = data;
        this.#chains.set(chain, { token, decimals: Number(decimals), prefix: Number(prefix) });
      } else if (kind === 'price') this.#prices.set(`${name} ${data[0]}`, BigInt(data[1] as string));
      else break; // chains and prices precede all other facts
    }
  }

  /** SS58 with the prefix of the chain; an H160 is unchanged. */
  address(key: string, chain: string): string {
    const { prefix } = this.#of(chain);
    const id = `${prefix} ${key}`;
    const cached = this.#addresses.get(id);
    if (cached !== undefined) return cached;
    const address = encodeAddress(key, prefix);
    this.#addresses.set(id, address);
    return address;
  }

  /** Planck in native tokens of a chain. */
  native(planck: bigint, chain: string): number {
    return scaledDown(planck, this.#of(chain).decimals);
  }

  decimals(chain: string): number {
    return this.#of(chain).decimals;
  }

  /** The exact USD value of an amount at the price of its day; null without a price. */
  usdValue(planck: bigint, chain: string, at: number): bigint | null {
    const { token, decimals } = this.#of(chain);
    const price = this.#prices.get(`${token} ${isoDay(at)}`);
    return price === undefined ? null : usdExact(planck, decimals, price);
  }

  #of(chain: string): ChainFacts {
    const facts = this.#chains.get(chain);
    if (!facts)
      throw new Error(
        `chain ${chain} is not in the registry of ${this.#relayChain}: add it with CHAINS_FILE`,
      );
    return facts;
  }
}

export const usdOrNull = (exact: bigint | null): number | null => (exact === null ? null : usd(exact));
