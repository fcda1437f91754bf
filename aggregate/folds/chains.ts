import { encodeAddress } from '../../ingest/chains/address.ts';
import { scaledDown, usd, usdExact } from '../amounts.ts';
import { dayOf, type Fact } from './facts.ts';

interface ChainFacts {
  readonly token: string;
  readonly decimals: number;
  readonly prefix: number;
  readonly role: string;
}

/** What folds must know of the chains of a relay to print accounts and money. */
export class Chains {
  readonly #chains = new Map<string, ChainFacts>();
  /** Exact prices by `token day`. */
  readonly #prices = new Map<string, bigint>();
  readonly #addresses = new Map<string, string>();
  readonly #relayChain: string;

  constructor(relayChain: string, rows: readonly Fact[]) {
    this.#relayChain = relayChain;
    for (const { kind, chain, name, data } of rows) {
      if (kind === 'chain') {
        const [token = '', decimals, prefix, role = ''] = data;
        this.#chains.set(chain, { token, decimals: Number(decimals), prefix: Number(prefix), role });
      } else if (kind === 'price') this.#prices.set(`${name} ${data[0]}`, BigInt(data[1] as string));
      else break; // both come before all that happened
    }
  }

  /**
   * All that happened, in order, apart for each governance. Chains that share the relay's token share its
   * governance, which may move from one to the other under the same indexes; a chain with a token of its own
   * governs itself.
   */
  apart(rows: readonly Fact[]): Fact[][] {
    const relay = [...this.#chains.values()].find(({ role }) => role === 'relay');
    const groups = new Map<string, Fact[]>();
    for (const row of rows) {
      const chain = this.#chains.get(row.chain);
      if (!chain || row.kind === 'chain' || row.kind === 'price') continue;
      const owner = chain.token === relay?.token ? '' : row.chain;
      const group = groups.get(owner);
      if (group) group.push(row);
      else groups.set(owner, [row]);
    }
    return [...groups.values()];
  }

  /** SS58 as the chain prints it; H160 as it is. */
  address(key: string, chain: string): string {
    const { prefix } = this.#of(chain);
    const id = `${prefix} ${key}`;
    const known = this.#addresses.get(id);
    if (known !== undefined) return known;
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

  /** The exact worth of an amount at the price of its day; null when that is not known. */
  worth(planck: bigint, chain: string, at: number): bigint | null {
    const { token, decimals } = this.#of(chain);
    const price = this.#prices.get(`${token} ${dayOf(at)}`);
    return price === undefined ? null : usdExact(planck, decimals, price);
  }

  #of(chain: string): ChainFacts {
    const facts = this.#chains.get(chain);
    if (!facts) throw new Error(`chain ${chain} is not in the registry of ${this.#relayChain}`);
    return facts;
  }
}

/** An exact USD amount as a number; null stays null. */
export const usdOrNull = (exact: bigint | null): number | null => (exact === null ? null : usd(exact));
