import { markHandled } from '../../../infra/ignore.ts';
import type { Ack } from '../../../infra/ports.ts';

/** The log redelivers a failed batch within this time, unless another process owns the partition now. */
const REDELIVERY_MS_MAX = 60_000;

/** Measures how long batches of the log wait until they are durable. */
export class Backlog {
  /** Arrival times of batches, by `performance.now()`. */
  readonly #received = new Set<{ at: number }>();
  /** Arrival and last attempt of the batch that failed. */
  #failing: { since: number; triedAt: number } | undefined;
  #isRunningCommand = false;

  /** Milliseconds for which the oldest batch has waited; 0 while a command runs. */
  get oldestMs(): number {
    if (this.#isRunningCommand) return 0;
    const now = performance.now();
    let oldest = this.#failingSince ?? now;
    // A loop, because every request calls this and hundreds of batches may wait.
    for (const { at } of this.#received) if (at < oldest) oldest = at;
    return now - oldest;
  }

  /** Processes a batch. It counts as waiting until it is durable or fails. */
  async process(work: () => Promise<Ack>): Promise<Ack> {
    const received = { at: this.#failingSince ?? performance.now() };
    this.#received.add(received);
    try {
      const ack = await work();
      this.#failing = undefined;
      // The log awaits `durable` later, so a rejection before that must not be unhandled.
      return { durable: markHandled(ack.durable.then(() => void this.#received.delete(received))) };
    } catch (error) {
      this.#received.delete(received);
      this.#failing = { since: received.at, triedAt: performance.now() };
      throw error;
    }
  }

  /** Runs a command. The waiting time of the events behind it starts at its end. */
  async runCommand<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isRunningCommand = true;
    try {
      return await work();
    } finally {
      this.#isRunningCommand = false;
      for (const received of this.#received) received.at = performance.now();
    }
  }

  get #failingSince(): number | undefined {
    const failing = this.#failing;
    return failing && performance.now() - failing.triedAt < REDELIVERY_MS_MAX ? failing.since : undefined;
  }
}
