import type { Log, Message } from '../runtime.ts';

type Handler = (batch: readonly Message[]) => Promise<void>;

/** Hands every batch straight to its subscribers, one batch of a topic at a time, and returns when they are done. */
export class EmbeddedLog implements Log {
  readonly #subscribers = new Map<string, Map<string, Handler>>();
  readonly #turn = new Map<string, Promise<unknown>>();

  publish(topic: string, messages: readonly Message[]): Promise<void> {
    const before = this.#turn.get(topic) ?? Promise.resolve();
    const mine = before.then(async () => {
      const handlers = this.#subscribers.get(topic);
      if (!handlers) throw new Error(`nothing subscribes to ${topic}: the batch would be lost`);
      // Each group has its own fate; the publisher hears of the first that failed.
      const fates = await Promise.allSettled(
        [...handlers.values()].map(async (handler) => handler(messages)),
      );
      for (const fate of fates) if (fate.status === 'rejected') throw fate.reason;
    });
    this.#turn.set(
      topic,
      mine.catch(() => undefined),
    );
    return mine;
  }

  async subscribe(topic: string, group: string, handler: Handler): Promise<void> {
    const handlers = this.#subscribers.get(topic) ?? new Map<string, Handler>();
    handlers.set(group, handler);
    this.#subscribers.set(topic, handlers);
  }

  async close(): Promise<void> {
    await Promise.all(this.#turn.values());
    this.#subscribers.clear();
  }
}
