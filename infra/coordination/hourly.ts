/** Time between two runs. */
const INTERVAL_MS = 3_600_000;
/** Time before the first run, so that a short command ends without one. */
const FIRST_RUN_MS = 60_000;

/**
 * Runs a task a minute after `start` and then every hour, one run at a time. Errors after `stop` are not reported, since
 * the next start runs the task again.
 */
export class Hourly {
  readonly #task: () => Promise<unknown>;
  readonly #onFailure: (error: unknown) => void;
  readonly #timers: NodeJS.Timeout[] = [];
  #isRunning = false;
  #isStopped = false;

  constructor(task: () => Promise<unknown>, onFailure: (error: unknown) => void) {
    this.#task = task;
    this.#onFailure = onFailure;
  }

  start(): void {
    const run = () =>
      void this.#once().catch((error) => {
        if (!this.#isStopped) this.#onFailure(error);
      });
    this.#timers.push(setTimeout(run, FIRST_RUN_MS).unref(), setInterval(run, INTERVAL_MS).unref());
  }

  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
  }

  async #once(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#task();
    } finally {
      this.#isRunning = false;
    }
  }
}
