import type { Clock, KeyValue, Numbers } from '../ports.ts';

/** Bits below the milliseconds: 2^20 lines can be numbered in a millisecond. */
export const LINE_BITS = 20n;

/** The lowest number of a time in milliseconds. */
export const sequenceAt = (ms: number): bigint => BigInt(ms) << LINE_BITS;

/** The time at which a number was allocated, in milliseconds since the epoch. */
export const timeOfSequence = (sequence: bigint): number => Number(sequence >> LINE_BITS);

/**
 * Allocates increasing numbers, which order reads and computations. The upper bits are milliseconds, so the numbers also
 * increase across restarts. They never decrease, even if the clock does.
 */
export class Sequence implements Numbers {
  readonly #clock: Clock;
  #next: bigint;

  constructor(clock: Clock, after = 0n) {
    this.#clock = clock;
    this.#next = after + 1n;
  }

  take(size: number): bigint {
    const first = larger(sequenceAt(this.#clock.now()), this.#next);
    this.#next = first + BigInt(size);
    return first;
  }
}

const KEY = 'sequence';

/**
 * One sequence for many processes, stored in `keyValue`. After `keyValue` was emptied, the first caller continues above
 * the newest number in the store.
 */
export class SharedSequence implements Numbers {
  readonly #keyValue: KeyValue;
  readonly #clock: Clock;
  readonly #newest: () => Promise<bigint>;
  /** Greater than all numbers that were allocated to this process. */
  #next = 0n;

  constructor(keyValue: KeyValue, clock: Clock, newest: () => Promise<bigint>) {
    this.#keyValue = keyValue;
    this.#clock = clock;
    this.#newest = newest;
  }

  async take(size: number): Promise<bigint> {
    for (;;) {
      const floor = larger(sequenceAt(this.#clock.now()), this.#next);
      const first = await this.#keyValue.reserve(KEY, size, floor);
      if (first !== null) {
        this.#next = larger(this.#next, first + BigInt(size));
        return first;
      }
      const newest = await this.#newest();
      await this.#keyValue.set(KEY, String(larger(floor, newest + 1n)), { onlyIfAbsent: true });
    }
  }
}

const larger = (a: bigint, b: bigint) => (a > b ? a : b);
/** The lowest of the numbers and a limit. */
export const lowestOf = (numbers: Iterable<bigint>, limit: bigint): bigint =>
  [...numbers].reduce((a: bigint, b: bigint) => (a < b ? a : b), limit);
