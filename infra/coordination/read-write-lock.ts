import { ProductError } from '../errors.ts';
import { withTimeout } from './with-timeout.ts';

/**
 * `runShared` runs work concurrently; `runExclusive` waits until all shared work has ended and blocks new work meanwhile.
 */
export class ReadWriteLock {
  #passing = 0;
  #alone: Promise<unknown> = Promise.resolve();
  #isHeld = false;
  #emptied: (() => void) | undefined;

  async runShared<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isHeld) await this.#alone;
    this.#passing++;
    try {
      return await work();
    } finally {
      this.#passing--;
      if (this.#passing === 0) this.#emptied?.();
    }
  }

  /**
   * Runs work alone, one caller at a time. Throws `store_busy` if shared work does not end in time, since new work waits
   * meanwhile.
   */
  async runExclusive<T>(work: () => Promise<T>, waitMsMax = 15_000): Promise<T> {
    while (this.#isHeld) await this.#alone;
    this.#isHeld = true;
    const held = this.#holdFor(work, waitMsMax);
    // The caller gets the error; the next work starts even after a failure.
    this.#alone = held.catch(() => undefined);
    return held;
  }

  async #holdFor<T>(work: () => Promise<T>, waitMsMax: number): Promise<T> {
    try {
      if (this.#passing > 0) {
        const emptied = new Promise<void>((resolve) => {
          this.#emptied = resolve;
        });
        await withTimeout(waitMsMax, emptied).catch(() => {
          const some =
            this.#passing === 1 ? '1 statement that writes' : `${this.#passing} statements that write`;
          throw new ProductError(
            'store_busy',
            `${some} did not end within ${waitMsMax / 1000} s; try again later`,
          );
        });
      }
      return await work();
    } finally {
      this.#emptied = undefined;
      this.#isHeld = false;
    }
  }
}
