import { setTimeout } from 'node:timers/promises';
import { retry } from '../coordination/retry.ts';
import { ignore } from '../ignore.ts';
import type { Ack, LogRecord, Message } from '../ports.ts';
import type { TopicTable } from './log-database.ts';

type Handler = (batch: readonly LogRecord[]) => Promise<Ack>;

export interface RedeliveryOptions {
  /** Wait before a failed batch is delivered again; it doubles up to `retryMsMax`. */
  readonly retryMs?: number;
  readonly retryMsMax?: number;
}

const BATCH_MESSAGES_MAX = 2000;

/**
 * A topic that stores its messages before it acknowledges them. It has one consumer. A message is deleted once the effects
 * of it and of all earlier messages are durable. The remaining messages are delivered to the next process.
 */
export class StoredTopic {
  readonly #table: TopicTable;
  readonly #handler: Handler;
  readonly #options: Required<RedeliveryOptions>;
  readonly #closing = new AbortController();
  /** Offset of the last stored message; below, of the last delivered one, and of the last one with durable effects. */
  #stored: number;
  #delivered = 0;
  #committed = 0;
  /** Whether a batch did not become durable. Then no later one is committed, so that the next process receives them all. */
  #hasFailed = false;
  #isDelivering = false;
  #delivering: Promise<void> = Promise.resolve();
  #committing: Promise<void> = Promise.resolve();

  constructor(table: TopicTable, handler: Handler, options: RedeliveryOptions = {}) {
    this.#table = table;
    this.#handler = handler;
    this.#options = { retryMs: 50, retryMsMax: 5000, ...options };
    this.#stored = table.lastOffset();
    this.#deliver();
  }

  async append(messages: readonly Message[]): Promise<void> {
    if (this.#closing.signal.aborted) throw new Error('the log is closed');
    this.#stored = Math.max(this.#stored, await this.#table.append(messages));
    this.#deliver();
  }

  /** Resolves when all messages appended before the call are committed, or if only the next process can commit them. */
  async waitUntilConsumed(_group?: string): Promise<void> {
    const until = this.#stored;
    while (!this.#closing.signal.aborted && !this.#hasFailed && this.#committed < until) {
      await this.#delivering;
      await this.#committing;
      await setTimeout(1);
    }
  }

  /** Waits for the running handler and until the delivered batches are durable. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#delivering;
    await this.#committing;
  }

  #deliver(): void {
    if (this.#isDelivering) return;
    this.#isDelivering = true;
    this.#delivering = this.#deliverAll();
  }

  async #deliverAll(): Promise<void> {
    const { retryMs: waitMs, retryMsMax: waitMsMax } = this.#options;
    const { signal } = this.#closing;
    while (this.#delivered < this.#stored && !signal.aborted) {
      // Throws only when the topic is closed; the next process receives the batch.
      await retry(() => this.#deliverNext(), { waitMs, waitMsMax, signal }).catch(ignore('log.close'));
    }
    this.#isDelivering = false;
  }

  async #deliverNext(): Promise<void> {
    const batch = this.#table.read(this.#delivered, BATCH_MESSAGES_MAX);
    const ack = await this.#handler(batch);
    this.#delivered = (batch.at(-1) as LogRecord).offset;
    this.#committing = this.#commitAfter(this.#committing, ack, this.#delivered);
  }

  async #commitAfter(before: Promise<void>, { durable }: Ack, offset: number): Promise<void> {
    const [, outcome] = await Promise.allSettled([before, durable]);
    if (outcome.status === 'rejected') this.#hasFailed = true;
    if (this.#hasFailed) return;
    this.#committed = offset;
    // If this fails, the messages are deleted with the next batch, or delivered again to the next process.
    await this.#table.deleteUntil(offset).catch(ignore('log.delete'));
  }
}
