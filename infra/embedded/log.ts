import { join } from 'node:path';
import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { Journal, type JournalOptions } from './journal.ts';

/** Prepares a batch at once and returns the handling, which runs when the earlier batches are handled. */
type Subscriber = (batch: readonly Message[]) => () => Promise<void>;

/**
 * Passes every batch to the subscribers in this process, one batch of a topic at a time, and returns when they have
 * handled it. A consumed topic is a journal on disk instead: its publishers do not wait for the consumer.
 */
export class EmbeddedLog implements Log {
  readonly #options: JournalOptions | undefined;
  readonly #journals = new Map<string, Journal>();
  readonly #subscribers = new Map<string, Map<string, Subscriber>>();
  /** The last batch of each topic. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Without options no topic can be consumed. */
  constructor(options?: JournalOptions) {
    this.#options = options;
  }

  publish(topic: string, messages: readonly Message[]): Promise<void> {
    const journal = this.#journals.get(topic);
    if (journal) return journal.append(messages);
    const subscribers = [...(this.#subscribers.get(topic)?.values() ?? [])];
    const prepared = Promise.allSettled(subscribers.map(async (subscriber) => subscriber(messages)));
    const before = this.#last.get(topic) ?? Promise.resolve();
    const handled = before.then(async () => {
      if (subscribers.length === 0)
        throw new Error(`nothing subscribes to ${topic}: the batch would be lost`);
      // A group that fails does not stop the others; the publisher gets the first failure.
      const outcomes = await Promise.allSettled(
        (await prepared).map(async (handling) => {
          if (handling.status === 'rejected') throw handling.reason;
          await handling.value();
        }),
      );
      for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
    });
    this.#last.set(
      topic,
      handled.catch(() => undefined),
    );
    return handled;
  }

  async subscribe<Ready>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Ready,
  ): Promise<void> {
    const subscribers = this.#subscribers.get(topic) ?? new Map<string, Subscriber>();
    subscribers.set(group, (batch) => {
      const ready = prepare ? prepare(batch) : (batch as Ready);
      return () => handler(ready);
    });
    this.#subscribers.set(topic, subscribers);
  }

  async consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    if (!this.#options) throw new Error('topics of a log without a directory cannot be consumed');
    if (this.#journals.has(topic)) throw new Error(`${topic} has a consumer already`);
    const directory = join(this.#options.directory, topic, group);
    this.#journals.set(topic, Journal.open({ ...this.#options, directory }, handler));
  }

  /** Only publishers of a consumed topic return before their messages are handled. */
  async waitUntilConsumed(topic: string): Promise<void> {
    await this.#last.get(topic);
    await this.#journals.get(topic)?.waitUntilCommitted();
  }

  readonly redelivers = false;
  readonly messageBytesMax = Number.POSITIVE_INFINITY;

  async deadLetter(_topic: string, messages: readonly DeadLetterMessage[]): Promise<null[]> {
    return messages.map(() => null);
  }

  async readDeadLetters(_topic: string, offsets: readonly string[]): Promise<null[]> {
    return offsets.map(() => null);
  }

  async lag(): Promise<Lag[]> {
    return [];
  }

  async check(): Promise<void> {}

  async close(): Promise<void> {
    await Promise.all([...this.#journals.values()].map((journal) => journal.close()));
    await Promise.all(this.#last.values());
    this.#subscribers.clear();
  }
}
