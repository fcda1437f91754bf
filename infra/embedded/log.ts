import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { sizeOf } from '../message-size.ts';
import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { Journal, type JournalOptions } from './journal.ts';

/** Begins to prepare a batch and resolves to its handling, which runs when the earlier batches are handled. */
type Subscriber = (batch: readonly Message[]) => Promise<() => Promise<void>>;

/**
 * Publishers of few bytes that wait for an earlier batch share one: a load of one block costs as much as of many. What
 * is larger is prepared while the one before is handled.
 */
const FEW_BYTES_MAX = 2 ** 20;
const SHARED_BYTES_MAX = 8 * 2 ** 20;

/**
 * After a batch that several publishers shared, the next one gathers for so many times as long as that took to handle, so
 * that blocks which come one by one leave most of the store's time to what is computed of them; and no longer than this.
 */
const GATHERED_TIMES = 3;
const GATHERED_MS_MAX = 1000;

/** Messages that are handled together. */
class Batch {
  readonly #subscribers: readonly Subscriber[];
  readonly #messages: Message[] = [];
  readonly #closed = Promise.withResolvers<void>();
  #publishers = 0;
  #bytes = 0;
  #prepared: Promise<PromiseSettledResult<() => Promise<void>>[]> | undefined;

  constructor(subscribers: readonly Subscriber[]) {
    this.#subscribers = subscribers;
  }

  add(messages: readonly Message[], bytes: number): void {
    // A call with an argument for each would exceed the stack.
    for (const message of messages) this.#messages.push(message);
    this.#publishers++;
    this.#bytes += bytes;
  }

  get isShared(): boolean {
    return this.#publishers > 1;
  }

  hasRoomFor(bytes: number): boolean {
    return bytes <= FEW_BYTES_MAX && this.#bytes + bytes <= SHARED_BYTES_MAX && !this.#prepared;
  }

  /** Resolves after this time, or earlier when nothing is added any more. */
  async gather(ms: number): Promise<void> {
    if (ms === 0) return;
    const waiting = new AbortController();
    await Promise.race([setTimeout(ms, undefined, { signal: waiting.signal }), this.#closed.promise]);
    waiting.abort();
  }

  /** Nothing is added afterwards. */
  prepare(): void {
    this.#closed.resolve();
    this.#prepared ??= Promise.allSettled(this.#subscribers.map((prepare) => prepare(this.#messages)));
  }

  /** A group that fails does not stop the others; the publishers get the first failure. */
  async handle(): Promise<void> {
    this.prepare();
    const outcomes = await Promise.allSettled(
      ((await this.#prepared) ?? []).map(async (handling) => {
        if (handling.status === 'rejected') throw handling.reason;
        await handling.value();
      }),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }
}

/** The batches of a topic. */
interface Delivery {
  /** Resolves when the last of them is handled. */
  last: Promise<unknown>;
  /** The last one, while later publishers may share it. */
  open?: { readonly batch: Batch; readonly handled: Promise<void> };
}

/** The last batch of a topic that was handled. */
interface Handled {
  readonly isShared: boolean;
  readonly endedAt: number;
  readonly milliseconds: number;
}

/**
 * Passes every batch to the subscribers in this process, one batch of a topic at a time, and returns when they have
 * handled it. A consumed topic is a journal on disk instead: its publishers do not wait for the consumer.
 */
export class EmbeddedLog implements Log {
  readonly #options: JournalOptions | undefined;
  readonly #journals = new Map<string, Journal>();
  readonly #subscribers = new Map<string, Map<string, Subscriber>>();
  /** Of the topics that have batches which are not handled. */
  readonly #deliveries = new Map<string, Delivery>();
  readonly #handled = new Map<string, Handled>();

  /** Without options no topic can be consumed. */
  constructor(options?: JournalOptions) {
    this.#options = options;
  }

  publish(topic: string, messages: readonly Message[]): Promise<void> {
    const journal = this.#journals.get(topic);
    if (journal) return journal.append(messages);
    const subscribers = [...(this.#subscribers.get(topic)?.values() ?? [])];
    if (subscribers.length === 0)
      return Promise.reject(new Error(`nothing subscribes to ${topic}: the batch would be lost`));
    const bytes = messages.reduce((sum, message) => sum + sizeOf(message), 0);
    const delivery = this.#deliveries.get(topic);
    const open = delivery?.open;
    if (open?.batch.hasRoomFor(bytes)) {
      open.batch.add(messages, bytes);
      return open.handled;
    }
    open?.batch.prepare();
    return this.#deliver(topic, delivery, new Batch(subscribers), messages, bytes);
  }

  #deliver(
    topic: string,
    before: Delivery | undefined,
    batch: Batch,
    messages: readonly Message[],
    bytes: number,
  ): Promise<void> {
    const isSmall = batch.hasRoomFor(bytes);
    const mayShare = isSmall && (before !== undefined || this.#gatherMs(topic) > 0);
    batch.add(messages, bytes);
    // While an earlier batch is handled, this one is prepared.
    if (!mayShare) batch.prepare();
    const handled = (before?.last ?? Promise.resolve()).then(async () => {
      if (mayShare) await batch.gather(this.#gatherMs(topic));
      if (delivery.open?.batch === batch) delete delivery.open;
      const beganAt = performance.now();
      await batch.handle().finally(() => {
        const endedAt = performance.now();
        this.#handled.set(topic, { isShared: batch.isShared, endedAt, milliseconds: endedAt - beganAt });
      });
    });
    const delivery: Delivery = {
      last: handled
        .catch(() => undefined)
        .then(() => {
          if (this.#deliveries.get(topic) === delivery) this.#deliveries.delete(topic);
        }),
      ...(mayShare ? { open: { batch, handled } } : {}),
    };
    this.#deliveries.set(topic, delivery);
    return handled;
  }

  /** How long few messages still gather before they are handled. */
  #gatherMs(topic: string): number {
    const last = this.#handled.get(topic);
    if (!last?.isShared) return 0;
    const until = last.endedAt + Math.min(GATHERED_MS_MAX, GATHERED_TIMES * last.milliseconds);
    return Math.max(0, until - performance.now());
  }

  async subscribe<Ready>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Promise<Ready>,
  ): Promise<void> {
    const subscribers = this.#subscribers.get(topic) ?? new Map<string, Subscriber>();
    subscribers.set(group, async (batch) => {
      const ready = prepare ? await prepare(batch) : (batch as Ready);
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
    const delivery = this.#deliveries.get(topic);
    delivery?.open?.batch.prepare();
    await delivery?.last;
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
    for (const { open } of this.#deliveries.values()) open?.batch.prepare();
    await Promise.all([...this.#deliveries.values()].map(({ last }) => last));
    this.#subscribers.clear();
  }
}
