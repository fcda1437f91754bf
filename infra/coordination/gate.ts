/**
 * A read-write lock: `pass` runs shared work; `alone` waits for all shared work to end and blocks new work meanwhile.
 */
export class Gate {
  #passing = 0;
  #alone: Promise<unknown> = Promise.resolve();
  #isHeld = false;
  #emptied: (() => void) | undefined;

  async pass<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isHeld) await this.#alone;
    this.#passing++;
    try {
      return await work();
    } finally {
      this.#passing--;
      if (this.#passing === 0) this.#emptied?.();
    }
  }

  /** Runs one work alone; others that want to be alone wait for it. */
  async alone<T>(work: () => Promise<T>): Promise<T> {
    while (this.#isHeld) await this.#alone;
    this.#isHeld = true;
    const held = this.#holdFor(work);
    this.#alone = held.catch(() => undefined);
    return held;
  }

  async #holdFor<T>(work: () => Promise<T>): Promise<T> {
    try {
      if (this.#passing > 0) {
        await new Promise<void>((emptied) => {
          this.#emptied = emptied;
        });
      }
      return await work();
    } finally {
      this.#emptied = undefined;
      this.#isHeld = false;
    }
  }
}
