import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { InProcessTopic } from './in-process-topic.ts';
import { LogDatabase, type LogDatabaseOptions } from './log-database.ts';
import { type RedeliveryOptions, StoredTopic } from './stored-topic.ts';

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

interface EmbeddedLogOptions extends LogDatabaseOptions, RedeliveryOptions {
  /** Topics that acknowledge messages once they are on disk. All others acknowledge messages once they are consumed. */
  readonly stored: readonly string[];
}

/**
 * The log of one process. A stored topic acknowledges a message when it is in the database. Any other topic acknowledges it
 * when all groups have made its effects durable; without an acknowledgement the publisher reads its source again.
 */
export class EmbeddedLog implements Log {
  readonly system = 'chain_metrics';
  readonly messageBytesMax = Number.POSITIVE_INFINITY;
  readonly #options: EmbeddedLogOptions | undefined;
  readonly #database: LogDatabase | undefined;
  readonly #stored = new Map<string, StoredTopic>();
  readonly #topics = new Map<string, InProcessTopic>();

  /** Without options no topic is stored. */
  constructor(options?: EmbeddedLogOptions) {
    this.#options = options;
    this.#database = options && LogDatabase.open(options);
  }

  publish(topic: string, messages: readonly Message[]): Promise<void> {
    const consumer = this.#stored.get(topic) ?? this.#topics.get(topic);
    if (consumer) return consumer.append(messages);
    return Promise.reject(new Error(`nothing consumes ${topic}: the batch would be lost`));
  }

  async consume(topic: string, group: string, handler: Handler): Promise<void> {
    if (!this.#database || !this.#options?.stored.includes(topic)) {
      const consumer = this.#topics.get(topic) ?? new InProcessTopic();
      consumer.addGroup(group, handler);
      this.#topics.set(topic, consumer);
      return;
    }
    if (this.#stored.has(topic)) throw new Error(`${topic} has a consumer already`);
    this.#stored.set(topic, new StoredTopic(this.#database.table(topic), handler, this.#options));
  }

  async waitUntilConsumed(topic: string, group: string, signal?: AbortSignal): Promise<void> {
    const consumer = this.#stored.get(topic) ?? this.#topics.get(topic);
    await Promise.race([consumer?.waitUntilConsumed(group), aborted(signal)]);
  }

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

  /** Copies the stored topics; the file must not exist. */
  copyTo(file: string): void {
    this.#database?.copyTo(file);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#stored.values(), ...this.#topics.values()].map((topic) => topic.close()));
    this.#topics.clear();
    await this.#database?.close();
  }
}

const aborted = (signal?: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal?.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
