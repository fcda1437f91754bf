import type { Clock } from './runtime.ts';

/** Bits below the milliseconds: room for as many lines to be numbered within one of them. */
const LINE_BITS = 20n;

/**
 * The order of reading, as one growing number: milliseconds in the upper bits, so that it also grows over
 * restarts, and lines below. It never goes back, even when the clock does.
 */
export class Sequence {
  readonly #clock: Clock;
  #next: bigint;

  constructor(clock: Clock, after = 0n) {
    this.#clock = clock;
    this.#next = after + 1n;
  }

  /** The first of `size` numbers in a row that nobody else gets. */
  take(size: number): bigint {
    const now = BigInt(this.#clock.now()) << LINE_BITS;
    const first = now > this.#next ? now : this.#next;
    this.#next = first + BigInt(size);
    return first;
  }
}
