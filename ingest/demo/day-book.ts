import type { Chain } from '../chains/chain.ts';
import type { DemoEvent, DemoExtrinsic } from './blocks.ts';
import { type Cast, type DemoKey, hexOf } from './cast.ts';
import type { DemoChain } from './chains.ts';
import type { Random } from './random.ts';

/** Events or an extrinsic of a block of the day. */
interface Entry {
  /** Position in the day, from 0 to 1. */
  readonly at: number;
  readonly opening?: readonly DemoEvent[];
  readonly extrinsic?: DemoExtrinsic;
}

interface SignOptions {
  readonly success?: boolean;
  /** Whether the extrinsic gets a random position in the day. Otherwise positions follow the order of the calls. */
  readonly anytime?: boolean;
}

/** Collects the events and extrinsics of one chain on one day, and splits them into blocks. */
export class DayBook {
  readonly chain: Chain;
  readonly profile: DemoChain;
  /** Days since the first day of the history. */
  readonly day: number;
  /** The elapsed part of the day: 1 except for the current day. */
  readonly passed: number;
  readonly #random: Random;
  readonly #cast: Cast;
  readonly #anytime: Entry[] = [];
  readonly #inOrder: Omit<Entry, 'at'>[] = [];

  constructor(
    at: { readonly chain: Chain; readonly profile: DemoChain; readonly day: number; readonly passed: number },
    random: Random,
    cast: Cast,
  ) {
    this.chain = at.chain;
    this.profile = at.profile;
    this.day = at.day;
    this.passed = at.passed;
    this.#random = random;
    this.#cast = cast;
  }

  /** An account as this chain prints it. */
  addressOf(key: DemoKey): string {
    return this.#cast.addressOf(key, this.chain);
  }

  /** Converts units of the chain's token to its smallest unit, as sources write amounts. */
  planck(units: number): string {
    return planckOf(units, this.chain.decimals).toString();
  }

  /** Adds events that no extrinsic emits. */
  emit(...opening: readonly DemoEvent[]): void {
    this.#inOrder.push({ opening });
  }

  /** Adds events that no extrinsic emits, at the beginning of the day. */
  emitFirst(...opening: readonly DemoEvent[]): void {
    this.#inOrder.unshift({ opening });
  }

  /** Adds an extrinsic without an account's signature: unsigned, or signed inside, as Ethereum transactions are. */
  addUnsigned(call: string, args: object, events: readonly DemoEvent[]): void {
    const extrinsic = { call, args, events, success: true, hash: hexOf(this.#random, 32) };
    this.#anytime.push({ at: this.#random.fraction(), extrinsic });
  }

  /** Adds a signed extrinsic with its fee event. A failed one has no other events. */
  sign(
    key: DemoKey,
    call: string,
    args: object,
    events: readonly DemoEvent[],
    { success = true, anytime = false }: SignOptions = {},
  ): void {
    const random = this.#random;
    const who = this.addressOf(key);
    const isBusy = random.chance(0.03);
    const fee = this.profile.fee * (0.75 + random.fraction() ** 3 * 2) * (isBusy ? 6 : 1);
    const tip = random.chance(0.04) ? this.planck(this.profile.fee * random.fraction() * 5) : '0';
    const paid = this.planck(fee);
    const extrinsic: DemoExtrinsic = {
      ...{ call, args, signer: key, tip, success, hash: hexOf(random, 32) },
      events: [...(success ? events : []), ['transactionPayment.TransactionFeePaid', who, paid, tip]],
    };
    if (anytime) this.#anytime.push({ at: random.fraction(), extrinsic });
    else this.#inOrder.push({ extrinsic });
  }

  /** Splits the entries of the day into `count` blocks, in order. */
  blocks(count: number): { opening: DemoEvent[]; extrinsics: DemoExtrinsic[] }[] {
    const inOrder = this.#inOrder.map((entry, i) => ({ ...entry, at: (i + 0.5) / this.#inOrder.length }));
    const entries = [...this.#anytime, ...inOrder].sort((a, b) => a.at - b.at);
    const blocks = Array.from({ length: count }, () => ({
      opening: [] as DemoEvent[],
      extrinsics: [] as DemoExtrinsic[],
    }));
    for (const { at, opening, extrinsic } of entries) {
      const block = blocks[Math.min(count - 1, Math.floor(at * count))];
      if (opening) block?.opening.push(...opening);
      if (extrinsic) block?.extrinsics.push(extrinsic);
    }
    return blocks;
  }
}

const EXACT_DIGITS = 6;

/** Converts an amount to the smallest unit, exact to six decimals. */
export function planckOf(units: number, decimals: number): bigint {
  const kept = Math.min(decimals, EXACT_DIGITS);
  return BigInt(Math.max(0, Math.round(units * 10 ** kept))) * 10n ** BigInt(decimals - kept);
}
