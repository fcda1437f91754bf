/** Time between two looks. */
const LOOK_MS = 3_600_000;
/** A command that ends soon begins nothing. */
const FIRST_LOOK_MS = 60_000;

/**
 * Looks a minute after it was started and then every hour whether there is work, one look at a time. What a stop breaks
 * off is no failure: it is looked for again after the next start.
 */
export class Hourly {
  readonly #look: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #isLooking = false;
  #isStopped = false;

  constructor(look: () => Promise<unknown>, onFailure: (error: unknown) => void) {
    this.#look = look;
    this.#onFailure = onFailure;
  }

  start(): void {
    const look = () =>
      void this.#once().catch((error) => {
        if (!this.#isStopped) this.#onFailure(error);
      });
    this.#timers.push(setTimeout(look, FIRST_LOOK_MS).unref(), setInterval(look, LOOK_MS).unref());
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #once(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    try {
      await this.#look();
    } finally {
      this.#isLooking = false;
    }
  }
}
