import type { Clock, KeyValue, Numbers } from '../ports.ts';

/** Bits below the milliseconds: room for as many lines to be numbered within one of them. */
export const LINE_BITS = 20n;

/** The least number that is given out at this time. */
export const sequenceAt = (ms: number): bigint => BigInt(ms) << LINE_BITS;

/**
 * The order of reading, as one growing number: milliseconds in the upper bits, so that it also grows over
 * restarts, and lines below. It never goes back, even when the clock does.
 */
export class Sequence implements Numbers {
  readonly #clock: Clock;
  #next: bigint;

  constructor(clock: Clock, after = 0n) {
    this.#clock = clock;
    this.#next = after + 1n;
  }

  /** The first of `size` numbers in a row that nobody else gets. */
  take(size: number): bigint {
    const now = sequenceAt(this.#clock.now());
    const first = now > this.#next ? now : this.#next;
    this.#next = first + BigInt(size);
    return first;
  }
}

const KEY = 'sequence';

/**
 * The same order over many processes: the last number is kept where all of them ask. When that is forgotten, the
 * first who asks finds the newest number in the store, below which nobody may begin again.
 */
export class SharedSequence implements Numbers {
  readonly #keyValue: KeyValue;
  readonly #clock: Clock;
  readonly #newest: () => Promise<bigint>;
  /** Above all that this process was given. */
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
