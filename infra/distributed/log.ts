import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Admin, Kafka, Producer } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { Mutex } from '../coordination/lock.ts';
import { retry, retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { partsOf } from '../parts.ts';
import type { Ack, ConsumedTopic, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { ZSTD } from './compression.ts';
import { GroupMember } from './consumer.ts';
import { kafkaRefusal, METADATA_MS, openKafka } from './kafka.ts';
import { type Committed, isConsumed, type PartitionEnds } from './partition-growth.ts';
import { deadLettersOf, ensureTopic } from './topics.ts';

/** Bytes of one request to a broker: however they are spread over partitions, a batch stays below the topic's limit. */
const REQUEST_BYTES = 4 * 2 ** 20;
/** Of a dead letter, with its reason and origin. */
const HEADERS_BYTES = 2000;
/** Group members of a process for a subscription: one handles a batch while the other fetches the next one. */
const SUBSCRIBED_MEMBERS = 2;
/** Producers of a process: one compresses while the other waits for the brokers. A key always uses the same one. */
const PRODUCERS = 2;
const OFFSETS_POLL_MS = 25;
/** Wait between two attempts while Kafka is away. */
const RETRY_MS = 500;
const DEAD_LETTERS_MS_MAX = 30_000;
const DEAD_LETTERS_PARTITION = 0;
const DURABLE: Ack = { durable: Promise.resolve() };
/** Errors after which a producer must be replaced. Its messages can be sent again. */
const PRODUCER_ERRORS =
  /OUT_OF_ORDER_SEQUENCE|UNKNOWN_PRODUCER_ID|INVALID_PRODUCER_EPOCH|INVALID_PRODUCER_ID/;

/** Kafka. Topics are created or checked before their first use. Each group of a topic is a consumer group. */
export class DistributedLog implements Log {
  readonly redelivers = true;
  readonly messageBytesMax: number;
  readonly #config: InfraSettings;
  readonly #logger: Logger;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #producers: Producer[];
  readonly #closing = new AbortController();
  /** Topics that exist. */
  readonly #topics = new Map<string, Promise<void>>();
  /** Requests of a topic and a producer are sent in order. */
  readonly #requests = new Map<string, Mutex>();
  /** Of all processes. */
  readonly #consumed: ConsumedTopic[];
  /** Of this process. */
  readonly #members: GroupMember[] = [];

  private constructor(config: InfraSettings, logger: Logger, consumed: readonly ConsumedTopic[]) {
    this.#config = config;
    this.#logger = logger;
    this.#consumed = [...consumed];
    this.messageBytesMax = config.KAFKA_MESSAGE_BYTES;
    this.#kafka = openKafka(config, logger);
    this.#admin = this.#kafka.admin();
    this.#producers = Array.from({ length: PRODUCERS }, () => this.#newProducer());
  }

  /** Waits for the brokers; throws at once when they refuse the credentials. */
  static async open(
    config: InfraSettings,
    logger: Logger,
    consumed: readonly ConsumedTopic[] = [],
  ): Promise<DistributedLog> {
    const log = new DistributedLog(config, logger, consumed);
    const setting = `KAFKA_BROKERS=${config.KAFKA_BROKERS}`;
    try {
      await retryUntilReady(
        setting,
        config.SERVICE_WAIT_SECONDS,
        async () => {
          await log.#admin.connect();
          for (const { topic } of consumed) await log.#ensure(topic);
          await Promise.all(log.#producers.map((producer) => producer.connect()));
        },
        kafkaRefusal,
      );
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  async publish(topic: string, messages: readonly Message[]): Promise<void> {
    await this.#ensure(topic);
    const byProducer = Map.groupBy(messages, ({ key }) => crc32(key) % PRODUCERS);
    await Promise.all(
      [...byProducer].map(([producer, some]) =>
        this.#requestsOf(`${topic} ${producer}`).run(async () => {
          const requests = partsOf(some, REQUEST_BYTES, ({ value }) => value.length);
          for (const request of requests) await this.#send(this.#topicName(topic), request, producer);
        }),
      ),
    );
  }

  async subscribe<Ready>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Ready,
  ): Promise<void> {
    await this.#join(topic, group, SUBSCRIBED_MEMBERS, async (batch) => {
      await handler(prepare ? prepare(batch) : (batch as Ready));
      return DURABLE;
    });
  }

  consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    return this.#join(topic, group, 1, handler);
  }

  async waitUntilConsumed(topic: string, group: string): Promise<void> {
    await this.#retryWhileAway(() => this.#ensure(topic));
    const ends = await this.#retryWhileAway(() => this.#ends(topic));
    for (;;) {
      const committed = await this.#retryWhileAway(() => this.#committed(topic, group));
      if (ends.every((end) => isConsumed(end, committed.get(end.partition)?.offset))) return;
      await setTimeout(OFFSETS_POLL_MS);
    }
  }

  async lag(): Promise<Lag[]> {
    return Promise.all(
      this.#consumed.map(async ({ topic, group }) => {
        const [ends, committed] = await Promise.all([this.#ends(topic), this.#committed(topic, group)]);
        const partitions = ends.map(({ partition, high, low }) => ({
          partition,
          messages: Math.max(0, high - Math.max(low, committed.get(partition)?.offset ?? 0)),
        }));
        const messages = partitions.reduce((sum, partition) => sum + partition.messages, 0);
        return { topic, group, messages, partitions };
      }),
    );
  }

  async check(): Promise<void> {
    await this.#admin.describeCluster();
  }

  async deadLetter(topic: string, messages: readonly DeadLetterMessage[]): Promise<(string | null)[]> {
    await this.#ensure(topic);
    const offsets: (string | null)[] = messages.map(() => null);
    // A longer message has only its first bytes in the store, as every dead letter does.
    const short = [...messages.entries()].filter(([, { value }]) => value.length <= this.messageBytesMax);
    for (const request of partsOf(short, REQUEST_BYTES, ([, { value }]) => value.length + HEADERS_BYTES)) {
      const records = request.map(([, { value, reason, origin, attempt }]) => ({
        key: null,
        value,
        headers: { 'x-reason': reason, 'x-origin': origin, 'x-attempt': String(attempt) },
        partition: DEAD_LETTERS_PARTITION,
      }));
      const first = await this.#send(this.#topicName(deadLettersOf(topic)), records);
      // All are in one partition, so that those of a request stand there one behind the other.
      request.forEach(([index], i) => {
        offsets[index] = first === null ? null : String(BigInt(first) + BigInt(i));
      });
    }
    return offsets;
  }

  async readDeadLetters(topic: string, offsets: readonly string[]): Promise<(Buffer | null)[]> {
    const name = this.#topicName(deadLettersOf(topic));
    await this.#ensure(topic);
    const ends = await this.#ends(deadLettersOf(topic));
    const { low = 0, high = 0 } = ends.find(({ partition }) => partition === DEAD_LETTERS_PARTITION) ?? {};
    const stored = new Set(offsets.filter((offset) => Number(offset) >= low && Number(offset) < high));
    if (stored.size === 0) return offsets.map(() => null);
    const values = new Map<string, Buffer>();
    const groupId = this.#groupId(topic, `dead-letters-${randomUUID()}`);
    const consumer = this.#kafka.consumer({ groupId, allowAutoTopicCreation: false });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [name], fromBeginning: true });
      const read = Promise.withResolvers<void>();
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition, message: { offset, value } }) => {
          if (partition === DEAD_LETTERS_PARTITION && stored.has(offset))
            values.set(offset, value ?? Buffer.alloc(0));
          if (values.size === stored.size) read.resolve();
        },
      });
      const offset = String(Math.min(...[...stored].map(Number)));
      consumer.seek({ topic: name, partition: DEAD_LETTERS_PARTITION, offset });
      await Promise.race([read.promise, setTimeout(DEAD_LETTERS_MS_MAX, undefined, { ref: false })]);
    } finally {
      await consumer.disconnect();
      await this.#admin.deleteGroups([groupId]).catch(() => undefined);
    }
    return offsets.map((offset) => values.get(offset) ?? null);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await Promise.all(this.#members.map((member) => member.close()));
    await Promise.all(this.#producers.map((producer) => producer.disconnect()));
    await this.#admin.disconnect();
  }

  async #join(
    topic: string,
    group: string,
    count: number,
    handle: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    await this.#retryWhileAway(() => this.#ensure(topic));
    const options = {
      kafka: this.#kafka,
      config: this.#config,
      logger: this.#logger,
      topic: this.#topicName(topic),
      groupId: this.#groupId(topic, group),
      fetchBytes: Math.ceil(this.#config.KAFKA_FETCH_BYTES / count),
      handle,
      growth: {
        ends: () => this.#ends(topic),
        committed: () => this.#committed(topic, group),
        now: Date.now,
      },
    };
    const members = Array.from({ length: count }, () => new GroupMember(options));
    this.#members.push(...members);
    if (!this.#consumed.some((known) => known.topic === topic && known.group === group))
      this.#consumed.push({ topic, group });
    await Promise.all(members.map((member) => this.#retryWhileAway(() => member.start())));
  }

  /** Sends messages, waits for all replicas and returns the offset of the first message. */
  async #send(topic: string, messages: readonly Outgoing[], index = 0): Promise<string | null> {
    const record = { topic, messages: [...messages], acks: -1, compression: ZSTD };
    try {
      const [metadata] = await (this.#producers[index] as Producer).send(record);
      return metadata?.baseOffset ?? null;
    } catch (error) {
      const reason = `${(error as { type?: string }).type} ${reasonOf(error)}`;
      if (!PRODUCER_ERRORS.test(reason))
        throw new ProductError('store_failed', `Kafka did not take messages of ${topic}`, reason);
      this.#logger.warn({ topic, reason }, 'the producer is replaced');
      await this.#producers[index]?.disconnect();
      const producer = this.#newProducer();
      this.#producers[index] = producer;
      await producer.connect();
      const [metadata] = await producer.send(record);
      return metadata?.baseOffset ?? null;
    }
  }

  #newProducer(): Producer {
    return this.#kafka.producer({
      idempotent: true,
      metadataMaxAge: METADATA_MS,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // Publishers wait while Kafka is away.
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: Number.MAX_SAFE_INTEGER },
    });
  }

  /** Repeats a call to the brokers while they are away and the log is open. */
  #retryWhileAway<T>(call: () => Promise<T>): Promise<T> {
    const isFinal = (error: unknown) => this.#closing.signal.aborted || !isRetriable(error);
    return retry(call, { waitMs: RETRY_MS, waitMsMax: RETRY_MS, isFinal, signal: this.#closing.signal });
  }

  async #ends(topic: string): Promise<PartitionEnds[]> {
    const ends = await this.#admin.fetchTopicOffsets(this.#topicName(topic));
    return ends.map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }));
  }

  async #committed(topic: string, group: string): Promise<Map<number, Committed>> {
    const [offsets] = await this.#admin.fetchOffsets({
      groupId: this.#groupId(topic, group),
      topics: [this.#topicName(topic)],
    });
    return new Map(
      offsets?.partitions.map(({ partition, offset, metadata }) => [
        partition,
        { offset: Number(offset), note: metadata ?? '' },
      ]) ?? [],
    );
  }

  #ensure(topic: string): Promise<void> {
    let ensured = this.#topics.get(topic);
    if (!ensured) {
      ensured = ensureTopic(this.#admin, this.#topicName(topic), this.#config, this.#logger);
      this.#topics.set(topic, ensured);
      ensured.catch(() => this.#topics.delete(topic));
    }
    return ensured;
  }

  #requestsOf(producer: string): Mutex {
    const mutex = this.#requests.get(producer) ?? new Mutex();
    this.#requests.set(producer, mutex);
    return mutex;
  }

  #topicName(topic: string): string {
    return `${this.#config.KAFKA_PREFIX}${topic}`;
  }

  /** All members of a consumer group must subscribe to the same topics, so each topic has groups of its own. */
  #groupId(topic: string, group: string): string {
    return `${this.#config.KAFKA_PREFIX}${group}.${topic}`;
  }
}

interface Outgoing {
  readonly key: string | null;
  readonly value: Buffer;
  readonly headers?: Record<string, string>;
  readonly partition?: number;
}

/** Whether another attempt may succeed: kafkajs marks the error itself or its cause. */
function isRetriable(error: unknown): boolean {
  const { name, retriable, cause } = error as { name?: string; retriable?: boolean; cause?: unknown };
  // Brokers that have just started know no coordinators yet.
  if (retriable === true || name === 'KafkaJSGroupCoordinatorNotFound') return true;
  return cause !== undefined && cause !== null && isRetriable(cause);
}
