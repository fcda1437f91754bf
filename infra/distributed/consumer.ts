import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { LogRecord } from '../ports.ts';

export interface ConsumerOptions {
  readonly kafka: Kafka;
  readonly config: InfraSettings;
  readonly logger: Logger;
  readonly topic: string;
  readonly groupId: string;
  /** Packed bytes that are fetched at once. */
  readonly fetchBytes: number;
  /**
   * Takes messages of any partitions, each partition in order. What it returns settles when their fate is durable;
   * the next ones are handed over before that.
   */
  readonly take: (messages: readonly LogRecord[]) => Promise<{ readonly durable: Promise<void> }>;
}

/** Messages that are handed over at once, at most: more cost memory and gain nothing. */
const MESSAGES_MAX = 20_000;
/** So soon a member hears that others have come or gone. */
const HEARTBEAT_MS = 1000;
const FIRST_BACKOFF_MS = 200;
const LONGEST_BACKOFF_MS = 15_000;
/** Wait before a consumer that has ended by itself is replaced. */
const ANEW_MS = 1000;

interface Handing {
  readonly messages: readonly LogRecord[];
  readonly bytes: number;
  readonly done: PromiseWithResolvers<{ durable: Promise<void> }>;
}

/**
 * One member of a consumer group. What was fetched of all partitions is handed over together, since a statement of
 * the store costs the same for few as for many. An offset is committed only when its messages are settled; a failure
 * pauses its partitions for a while and then fetches from the last settled offset again.
 */
export class GroupMember {
  readonly #options: ConsumerOptions;
  #consumer: Consumer;
  #isClosed = false;
  readonly #waiting: Handing[] = [];
  /** Per partition, the commit of what was handed over before; it fails when any before it failed. */
  readonly #order = new Map<number, Promise<void>>();
  /** Partitions of which something failed to settle, until it is handed over again. */
  readonly #broken = new Set<number>();
  /** Per partition, the offset behind what was handed over; another one begins a new order. */
  readonly #next = new Map<number, number>();
  readonly #failures = new Map<number, number>();
  readonly #pauses = new Set<NodeJS.Timeout>();
  #pumping: Promise<void> | undefined;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#consumer = this.#newConsumer();
  }

  #newConsumer(): Consumer {
    const { kafka, config, groupId, fetchBytes } = this.#options;
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout: config.KAFKA_SESSION_MS,
      heartbeatInterval: Math.min(HEARTBEAT_MS, Math.floor(config.KAFKA_SESSION_MS / 10)),
      rebalanceTimeout: Math.max(60_000, config.KAFKA_SESSION_MS),
      maxBytes: fetchBytes,
      maxBytesPerPartition: fetchBytes,
      minBytes: 1,
      maxWaitTimeInMs: 500,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: 5, restartOnFailure: async () => true },
    });
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) this.#startAnew(error);
    });
    return consumer;
  }

  /** kafkajs gives up on what it takes for hopeless, such as brokers that know no coordinator yet. */
  #startAnew(error: unknown): void {
    if (this.#isClosed) return;
    const { topic, logger } = this.#options;
    logger.warn({ topic, wait_ms: ANEW_MS, reason: reasonOf(error) }, 'the consumer starts anew');
    this.#later(ANEW_MS, () => {
      this.#consumer = this.#newConsumer();
      this.start().catch((failure) => this.#startAnew(failure));
    });
  }

  #later(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#pauses.delete(timer);
      work();
    }, ms);
    this.#pauses.add(timer);
  }

  /** Throws when the brokers do not answer; it may be started again. */
  async start(): Promise<void> {
    const { topic, config } = this.#options;
    try {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topics: [topic], fromBeginning: true });
    } catch (error) {
      await this.#consumer.disconnect().catch(() => undefined);
      this.#consumer = this.#newConsumer();
      throw error;
    }
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: Math.min(config.KAFKA_PARTITIONS, 256),
      eachBatch: (payload) => this.#eachBatch(payload),
    });
  }

  /** Waits for what runs; what was not settled is fetched again by whoever comes next. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#consumer.stop();
    await this.#pumping;
    await Promise.allSettled(this.#order.values());
    for (const pause of this.#pauses) clearTimeout(pause);
    await this.#consumer.disconnect();
  }

  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, heartbeat, isRunning, isStale, resolveOffset } = payload;
    // A group that goes on without this member is told by the next commit.
    const beat = setInterval(
      () => heartbeat().catch(() => undefined),
      this.#options.config.KAFKA_SESSION_MS / 10,
    );
    try {
      for (const messages of this.#pieces(payload)) {
        if (!isRunning() || isStale()) return;
        let handed: { durable: Promise<void> };
        try {
          handed = await this.#hand(messages);
        } catch (error) {
          return this.#backOff(payload, error);
        }
        resolveOffset(String(messages.at(-1)?.offset ?? 0));
        await this.#settle(payload, messages, handed.durable);
      }
      this.#failures.delete(batch.partition);
    } finally {
      clearInterval(beat);
    }
  }

  /** Commits in order, without keeping the next messages waiting for what settles late. */
  async #settle(
    payload: EachBatchPayload,
    messages: readonly LogRecord[],
    settled: Promise<void>,
  ): Promise<void> {
    const { topic, partition } = payload.batch;
    const [first, last] = [messages[0]?.offset ?? 0, messages.at(-1)?.offset ?? 0];
    if (this.#next.get(partition) !== first) {
      this.#broken.delete(partition);
      this.#order.delete(partition);
    }
    this.#next.set(partition, last + 1);
    const commit = (this.#order.get(partition) ?? Promise.resolve()).then(async () => {
      await settled;
      const offset = { partition, offset: String(last + 1) };
      await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: [offset] }] });
    });
    this.#order.set(partition, commit);
    // Seen to below; until then nobody looks at it.
    commit.catch(() => undefined);
    if (await isSettled(settled)) {
      // Kafka's client is told by what is thrown, and fetches from the last commit again: a new order begins.
      commit.catch(() => {
        if (this.#order.get(partition) === commit) this.#order.delete(partition);
      });
      return commit;
    }
    commit.catch((error) => {
      // What was handed over behind it fails with it; the first one says from where all of it is fetched again.
      if (this.#broken.has(partition)) return;
      this.#broken.add(partition);
      this.#backOff(payload, error);
      this.#rewind(partition, first);
    });
  }

  #rewind(partition: number, offset: number): void {
    try {
      this.#consumer.seek({ topic: this.#options.topic, partition, offset: String(offset) });
    } catch {
      // It has stopped, for good or to begin anew: then it fetches from the last commit.
    }
  }

  #hand(messages: readonly LogRecord[]): Promise<{ durable: Promise<void> }> {
    const done = Promise.withResolvers<{ durable: Promise<void> }>();
    this.#waiting.push({ messages, bytes: bytesOf(messages), done });
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = undefined;
    });
    return done.promise;
  }

  async #pump(): Promise<void> {
    const { config, take } = this.#options;
    while (this.#waiting.length > 0) {
      // Partitions of the same fetch arrive in the same moment.
      await new Promise((later) => setImmediate(later));
      const taken: Handing[] = [];
      let bytes = 0;
      for (let next = this.#waiting[0]; next; next = this.#waiting[0]) {
        if (taken.length > 0 && bytes + next.bytes > config.BATCH_BYTES) break;
        bytes += next.bytes;
        taken.push(this.#waiting.shift() as Handing);
      }
      try {
        const handed = await take(taken.flatMap(({ messages }) => messages));
        // Each partition looks at it when its turn has come, which may be later than it fails.
        handed.durable.catch(() => undefined);
        for (const { done } of taken) done.resolve(handed);
      } catch (error) {
        for (const { done } of taken) done.reject(error);
      }
    }
  }

  /** Leaves the partition alone for a while; it is fetched again from where it was settled last. */
  #backOff({ batch, pause }: EachBatchPayload, error: unknown): void {
    const { topic, partition } = batch;
    const failures = (this.#failures.get(partition) ?? 0) + 1;
    this.#failures.set(partition, failures);
    const wait = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), LONGEST_BACKOFF_MS);
    const { logger } = this.#options;
    logger.warn(
      { topic, partition, failures, wait_ms: wait, reason: reasonOf(error) },
      'a batch is tried again',
    );
    this.#later(wait, pause());
  }

  /** A fetch may unpack to many times its size. */
  *#pieces({ batch }: EachBatchPayload): Generator<LogRecord[]> {
    let piece: LogRecord[] = [];
    let bytes = 0;
    for (const { key, value, offset } of batch.messages) {
      const size = value?.length ?? 0;
      if (
        piece.length > 0 &&
        (bytes + size > this.#options.config.BATCH_BYTES || piece.length >= MESSAGES_MAX)
      ) {
        yield piece;
        piece = [];
        bytes = 0;
      }
      piece.push({
        key: key?.toString('utf8') ?? '',
        value: value ?? Buffer.alloc(0),
        partition: batch.partition,
        offset: Number(offset),
      });
      bytes += size;
    }
    if (piece.length > 0) yield piece;
  }
}

const bytesOf = (messages: readonly LogRecord[]) =>
  messages.reduce((sum, { value }) => sum + value.length, 0);

/** Whether a promise has its answer by now. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let answered = false;
  const note = () => {
    answered = true;
  };
  promise.then(note, note);
  await new Promise((later) => setImmediate(later));
  return answered;
}
