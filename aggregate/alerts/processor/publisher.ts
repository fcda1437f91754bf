import { ProductError } from '../../../infra/errors.ts';
import type { Message } from '../../../infra/ports.ts';

const MESSAGES_MAX = 1000;

interface Waiting {
  readonly message: Message;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * Publishes what comes in at the same time together: the cost of making it durable is shared. While the log does not
 * answer nobody waits for it longer than `mostMs`, and those that come later are turned away at once. What was on
 * its way to the log by then may still get there; what was not is forgotten.
 */
export class LogPublisher {
  readonly #publish: (messages: readonly Message[]) => Promise<void>;
  readonly #mostMs: number;
  readonly #waiting: Waiting[] = [];
  #running = false;
  #isAway = false;
  /** Called when the log stops to answer. */
  onAway: (error: unknown) => void = () => {};

  constructor(publish: (messages: readonly Message[]) => Promise<void>, waitMsMax: number) {
    this.#publish = publish;
    this.#mostMs = waitMsMax;
  }

  add(message: Message): Promise<void> {
    if (this.#isAway) return Promise.reject(away());
    const done = Promise.withResolvers<void>();
    this.#waiting.push({ message, done });
    if (!this.#running) void this.#run();
    return done.promise;
  }

  async #run(): Promise<void> {
    this.#running = true;
    // Requests that arrived in the same turn of the event loop come along.
    await new Promise((next) => setImmediate(next));
    while (this.#waiting.length > 0) {
      const group = this.#waiting.splice(0, MESSAGES_MAX);
      const late = setTimeout(() => this.#giveUp(group), this.#mostMs);
      try {
        await this.#publish(group.map(({ message }) => message));
        for (const { done } of group) done.resolve();
      } catch (error) {
        for (const { done } of group) done.reject(error);
      }
      clearTimeout(late);
      this.#isAway = false;
    }
    this.#running = false;
  }

  #giveUp(group: readonly Waiting[]): void {
    this.#isAway = true;
    const error = away();
    this.onAway(error);
    for (const { done } of [...group, ...this.#waiting.splice(0)]) done.reject(error);
  }
}

const away = () => new ProductError('service_unreachable', 'the log does not answer; send it again later');
