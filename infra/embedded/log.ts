import { join } from 'node:path';
import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { Journal, type JournalOptions } from './journal.ts';

/** Makes a batch ready at once, and returns what is to be done when its turn has come. */
type Handler = (batch: readonly Message[]) => () => Promise<void>;

/**
 * Hands every batch straight to its subscribers, one batch of a topic at a time, and returns when they are done. A
 * topic that is followed is kept on disk instead, and its publishers do not wait for the follower.
 */
export class EmbeddedLog implements Log {
  readonly #options: JournalOptions | undefined;
  readonly #journals = new Map<string, Journal>();
  readonly #subscribers = new Map<string, Map<string, Handler>>();
  readonly #turn = new Map<string, Promise<unknown>>();

  /** Without options nothing can be followed. */
  constructor(options?: JournalOptions) {
    this.#options = options;
  }

  publish(topic: string, messages: readonly Message[]): Promise<void> {
    const journal = this.#journals.get(topic);
    if (journal) return journal.append(messages);
    const handlers = [...(this.#subscribers.get(topic)?.values() ?? [])];
    const ready = Promise.allSettled(handlers.map(async (handler) => handler(messages)));
    const before = this.#turn.get(topic) ?? Promise.resolve();
    const mine = before.then(async () => {
      if (handlers.length === 0) throw new Error(`nothing subscribes to ${topic}: the batch would be lost`);
      // Each group has its own fate; the publisher hears of the first that failed.
      const fates = await Promise.allSettled(
        (await ready).map(async (made) => {
          if (made.status === 'rejected') throw made.reason;
          await made.value();
        }),
      );
      for (const fate of fates) if (fate.status === 'rejected') throw fate.reason;
    });
    this.#turn.set(
      topic,
      mine.catch(() => undefined),
    );
    return mine;
  }

  async subscribe<Ready>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Ready,
  ): Promise<void> {
    const handlers = this.#subscribers.get(topic) ?? new Map<string, Handler>();
    handlers.set(group, (batch) => {
      const ready = prepare ? prepare(batch) : (batch as Ready);
      return () => handler(ready);
    });
    this.#subscribers.set(topic, handlers);
  }

  async consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    if (!this.#options) throw new Error('a log without a directory cannot be followed');
    if (this.#journals.has(topic)) throw new Error(`${topic} is followed already`);
    const directory = join(this.#options.directory, topic, group);
    this.#journals.set(topic, Journal.open({ ...this.#options, directory }, handler));
  }

  /** A publisher that has returned has been handled, unless the topic is followed. */
  async waitUntilConsumed(topic: string): Promise<void> {
    await this.#turn.get(topic);
    await this.#journals.get(topic)?.settled();
  }

  readonly redelivers = false;
  readonly messageBytesMax = Number.POSITIVE_INFINITY;

  async deadLetter(_topic: string, letters: readonly DeadLetterMessage[]): Promise<null[]> {
    return letters.map(() => null);
  }

  async readDeadLetters(_topic: string, places: readonly string[]): Promise<null[]> {
    return places.map(() => null);
  }

  async lag(): Promise<Lag[]> {
    return [];
  }

  async close(): Promise<void> {
    await Promise.all([...this.#journals.values()].map((journal) => journal.close()));
    await Promise.all(this.#turn.values());
    this.#subscribers.clear();
  }
}
