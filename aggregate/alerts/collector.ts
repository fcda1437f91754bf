import type { Message } from '../../infra/runtime.ts';

const MESSAGES_MAX = 1000;

interface Waiting {
  readonly message: Message;
  readonly done: PromiseWithResolvers<void>;
}

/** Publishes what comes in at the same time together: the cost of making it durable is shared. */
export class Collector {
  readonly #publish: (messages: readonly Message[]) => Promise<void>;
  readonly #waiting: Waiting[] = [];
  #running = false;

  constructor(publish: (messages: readonly Message[]) => Promise<void>) {
    this.#publish = publish;
  }

  add(message: Message): Promise<void> {
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
      try {
        await this.#publish(group.map(({ message }) => message));
        for (const { done } of group) done.resolve();
      } catch (error) {
        for (const { done } of group) done.reject(error);
      }
    }
    this.#running = false;
  }
}
