/** Lets a backfill give way to the live work of its process. */
export class Precedence {
  #running = 0;
  #over: PromiseWithResolvers<void> | undefined;

  /** Runs live work. */
  async first<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running++ === 0) this.#over = Promise.withResolvers();
    try {
      return await work();
    } finally {
      if (--this.#running === 0) this.#over?.resolve();
    }
  }

  /**
   * Resolves when the live work that runs now is done, even if more of it begins at once: a backfill goes on beside
   * chains that never pause.
   */
  async turn(): Promise<void> {
    if (this.#running > 0) await this.#over?.promise;
  }
}
