import { encodeAddress } from '../chains/address.ts';
import type { Chain } from '../chains/chain.ts';
import type { Random } from './random.ts';

/** Public keys as lowercase hex, or Ethereum addresses. */
export type DemoKey = string;

export const hexOf = (random: Random, bytes: number): string => {
  let text = '0x';
  for (let done = 0; done < bytes; done += 4) {
    text += random
      .whole(0, 0xffffffff)
      .toString(16)
      .padStart(8, '0')
      .slice(0, 2 * Math.min(4, bytes - done));
  }
  return text;
};

/** The accounts of the demo, on all chains. Few of them act often, most of them rarely. */
export class Cast {
  readonly #keys: readonly DemoKey[];
  readonly #random: Random;
  readonly #printed = new Map<string, string>();

  constructor(random: Random, keys: readonly DemoKey[]) {
    this.#random = random;
    this.#keys = keys;
  }

  get size(): number {
    return this.#keys.length;
  }

  at(index: number): DemoKey {
    return this.#keys[index % this.#keys.length] as DemoKey;
  }

  /** A random account among the first `count`. Earlier ones are more likely. */
  randomKey(count: number = this.#keys.length): DemoKey {
    return this.at(Math.floor(this.#random.fraction() ** 2 * Math.min(count, this.#keys.length)));
  }

  /** Formats an account as sources print it on a chain. */
  addressOf(key: DemoKey, { ss58_prefix, accounts }: Pick<Chain, 'ss58_prefix' | 'accounts'>): string {
    if (accounts === 'h160') return key;
    const name = `${ss58_prefix}/${key}`;
    const cached = this.#printed.get(name);
    if (cached !== undefined) return cached;
    const printed = encodeAddress(key, ss58_prefix);
    this.#printed.set(name, printed);
    return printed;
  }
}
