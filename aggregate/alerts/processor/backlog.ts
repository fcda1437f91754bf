import { markHandled } from '../../../infra/ignore.ts';
import type { Ack } from '../../../infra/ports.ts';

/** The log delivers a failed batch again before this time, unless its partition now belongs to another process. */
const REDELIVERY_MS_MAX = 60_000;

/** The batches of the log that are not durable yet, and how long they wait. */
export class Backlog {
  /** When the batches came, by `performance.now()`. */
  readonly #received = new Set<{ at: number }>();
  /** When a batch came that could not be processed so far, and when it was last tried. */
  #failing: { since: number; triedAt: number } | undefined;
  #isAtOrder = false;

  /** Milliseconds for which the oldest batch waits; 0 while an order is carried out. */
  get oldestMs(): number {
    if (this.#isAtOrder) return 0;
    const now = performance.now();
    let oldest = this.#failingSince ?? now;
    // Every request asks, and hundreds of batches may wait.
    for (const { at } of this.#received) if (at < oldest) oldest = at;
    return now - oldest;
  }

  /** Processes a batch, which waits until it is durable or fails. */
  async process(work: () => Promise<Ack>): Promise<Ack> {
    const received = { at: this.#failingSince ?? performance.now() };
    this.#received.add(received);
    try {
      const ack = await work();
      this.#failing = undefined;
      // The log looks at it later.
      return { durable: markHandled(ack.durable.then(() => void this.#received.delete(received))) };
    } catch (error) {
      this.#received.delete(received);
      this.#failing = { since: received.at, triedAt: performance.now() };
      throw error;
    }
  }

  /** Carries out an order. The events behind it wait from its end on: they had to. */
  async carryOut<Result>(work: () => Promise<Result>): Promise<Result> {
    this.#isAtOrder = true;
    try {
      return await work();
    } finally {
      this.#isAtOrder = false;
      for (const received of this.#received) received.at = performance.now();
    }
  }

  get #failingSince(): number | undefined {
    const failing = this.#failing;
    return failing && performance.now() - failing.triedAt < REDELIVERY_MS_MAX ? failing.since : undefined;
  }
}
