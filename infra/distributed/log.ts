import { setTimeout } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import { chunkBySize } from '../chunk.ts';
import { closeAll } from '../close-all.ts';
import { Mutex } from '../coordination/lock.ts';
import { retry, retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { markHandled } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import type { Ack, ConsumedTopic, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { GroupMember } from './consumer.ts';
import { isConsumed, type KafkaClient, type OutgoingMessage, type PartitionEnds } from './kafka-client.ts';
import { describeKafkaError, kafkaRefusal } from './kafka-refusal.ts';
import { KafkajsClient } from './kafkajs-client.ts';
import { SelfReplacingProducer } from './self-replacing-producer.ts';
import type { DistributedSettings } from './settings.ts';
import { deadLettersOf, ensureTopic, groupIdOf, topicNameOf } from './topics.ts';

/** Compressed bytes of one fetch; bounds the memory of a process that loads. */
export const FETCH_BYTES = 8 * 2 ** 20;

/** Bytes of one request to a broker, so that its batches stay below the limit of the topic however keys are distributed. */
const REQUEST_BYTES = 4 * 2 ** 20;
/** Allowance for the headers of a dead letter. */
const HEADERS_BYTES = 2000;
/** Producers of a process: one compresses while the other waits for the brokers. A key always uses the same producer. */
const PRODUCERS = 2;
const OFFSETS_POLL_MS = 25;
/** Wait between two attempts while Kafka is away. */
const RETRY_MS = 500;
const CONNECT_MS_MAX = 5000;
const DEAD_LETTERS_PARTITION = 0;

/**
 * The log on Kafka. A topic is created or checked before its first use. Each group of a topic is a consumer group. Before
 * the first answer of the brokers every use of a topic waits, and reading the state of the log throws.
 */
export class DistributedLog implements Log {
  readonly system = 'kafka';
  readonly messageBytesMax: number;
  readonly #config: DistributedSettings;
  readonly #logger: Logger;
  readonly #client: KafkaClient;
  readonly #producers: readonly SelfReplacingProducer[];
  readonly #closing = new AbortController();
  readonly #connected = Promise.withResolvers<void>();
  #isConnected = false;
  #isNeeded = true;
  /** Topics that were created or checked. */
  readonly #topics = new Map<string, Promise<void>>();
  /** Keeps the requests to a topic by one producer in order. */
  readonly #requests = new Map<string, Mutex>();
  /** The consumer groups of all processes. */
  readonly #consumed: ConsumedTopic[];
  /** The group members in this process. */
  readonly #members: GroupMember[] = [];

  constructor(config: DistributedSettings, logger: Logger, consumed: readonly ConsumedTopic[] = []) {
    this.#config = config;
    this.#logger = logger;
    this.#consumed = [...consumed];
    this.messageBytesMax = config.KAFKA_MESSAGE_BYTES;
    this.#client = new KafkajsClient(config, logger);
    this.#producers = Array.from(
      { length: PRODUCERS },
      () => new SelfReplacingProducer(this.#client, logger),
    );
    markHandled(this.#connected.promise);
  }

  static async open(
    config: DistributedSettings,
    logger: Logger,
    consumed: readonly ConsumedTopic[] = [],
  ): Promise<DistributedLog> {
    const log = new DistributedLog(config, logger, consumed);
    try {
      await log.connect(true);
      return log;
    } catch (error) {
      await log.close();
      throw error;
    }
  }

  /**
   * Waits for the brokers; throws at once if they refuse the credentials. If `isNeeded` is false, retries without a limit
   * after any error.
   */
  async connect(isNeeded: boolean): Promise<void> {
    this.#isNeeded = isNeeded;
    const { signal } = this.#closing;
    const waits = { waitMs: RETRY_MS, waitMsMax: CONNECT_MS_MAX, signal };
    await (isNeeded ? this.#connect() : retry(() => this.#connect().catch(this.#warn), waits));
    this.#isConnected = true;
    this.#connected.resolve();
  }

  async #connect(): Promise<void> {
    await retryUntilReady(
      `KAFKA_BROKERS=${this.#config.KAFKA_BROKERS}`,
      this.#config.SERVICE_WAIT_SECONDS,
      async () => {
        await this.#client.admin.connect();
        for (const { topic } of this.#consumed) await this.#ensured(topic);
        await Promise.all(this.#producers.map((producer) => producer.connect()));
      },
      (error) => (error instanceof ProductError ? error : kafkaRefusal(describeKafkaError(error))),
    );
    // `close` was called while this connected.
    if (this.#closing.signal.aborted) await this.close();
  }

  readonly #warn = (error: unknown): never => {
    const reason = error instanceof ProductError ? `${error.message}: ${error.detail}` : reasonOf(error);
    this.#logger.warn({ reason }, 'the log does not answer; retrying');
    throw error;
  };

  async publish(topic: string, messages: readonly Message[]): Promise<void> {
    await this.#ensure(topic);
    // Reads each lazy value once.
    const made = messages.map(({ key, value, traceparent }) =>
      traceparent === undefined ? { key, value } : { key, value, headers: { traceparent } },
    );
    const byProducer = Map.groupBy(made, ({ key }) => crc32(key) % PRODUCERS);
    await Promise.all(
      [...byProducer].map(([producer, some]) =>
        this.#requestsOf(`${topic} ${producer}`).run(async () => {
          const requests = chunkBySize(some, REQUEST_BYTES, ({ value }) => value.length);
          for (const request of requests) await this.#send(this.#topicName(topic), request, producer);
        }),
      ),
    );
  }

  /** A process that does not need the log starts without waiting to join the group. */
  async consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    const joined = this.#join(topic, group, handler);
    if (this.#isNeeded) return joined;
    joined.catch((error) => {
      if (this.#closing.signal.aborted) return;
      this.#logger.error(
        { reason: reasonOf(error) },
        'could not join the consumer group; nothing is consumed',
      );
    });
  }

  async #join(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    await this.#retryWhileAway(() => this.#ensure(topic));
    const member = new GroupMember({
      client: this.#client,
      config: this.#config,
      logger: this.#logger,
      topic: this.#topicName(topic),
      groupId: this.#groupId(topic, group),
      fetchBytes: FETCH_BYTES,
      handle: handler,
    });
    this.#members.push(member);
    if (!this.#consumed.some((known) => known.topic === topic && known.group === group))
      this.#consumed.push({ topic, group });
    await this.#retryWhileAway(() => member.start());
  }

  async waitUntilConsumed(topic: string, group: string, signal?: AbortSignal): Promise<void> {
    const ask = <T>(call: () => Promise<T>) => this.#retryWhileAway(call, signal);
    await ask(() => this.#ensure(topic));
    const ends = await ask(() => this.#ends(topic));
    for (;;) {
      const committed = await ask(() => this.#committed(topic, group));
      if (ends.every((end) => isConsumed(end, committed.get(end.partition)))) return;
      await setTimeout(OFFSETS_POLL_MS, undefined, { signal });
    }
  }

  async lag(): Promise<Lag[]> {
    this.#requireConnected();
    return Promise.all(
      this.#consumed.map(async ({ topic, group }) => {
        const [ends, committed] = await Promise.all([this.#ends(topic), this.#committed(topic, group)]);
        const partitions = ends.map(({ partition, high, low }) => ({
          partition,
          messages: Math.max(0, high - Math.max(low, committed.get(partition) ?? 0)),
        }));
        const messages = partitions.reduce((sum, partition) => sum + partition.messages, 0);
        return { topic, group, messages, partitions };
      }),
    );
  }

  async check(): Promise<void> {
    this.#requireConnected();
    await this.#client.admin.check();
  }

  async deadLetter(topic: string, messages: readonly DeadLetterMessage[]): Promise<(string | null)[]> {
    await this.#ensure(topic);
    const offsets: (string | null)[] = messages.map(() => null);
    // Longer messages are not published: only the first bytes of the value are kept, in the store.
    const short = [...messages.entries()].filter(([, { value }]) => value.length <= this.messageBytesMax);
    for (const request of chunkBySize(
      short,
      REQUEST_BYTES,
      ([, { value }]) => value.length + HEADERS_BYTES,
    )) {
      const records = request.map(([, { value, reason, origin, attempt }]) => ({
        key: null,
        value,
        headers: { 'x-reason': reason, 'x-origin': origin, 'x-attempt': String(attempt) },
        partition: DEAD_LETTERS_PARTITION,
      }));
      const first = await this.#send(this.#topicName(deadLettersOf(topic)), records);
      // All dead letters use one partition, so the offsets of a request are consecutive.
      request.forEach(([index], i) => {
        offsets[index] = first === null ? null : String(BigInt(first) + BigInt(i));
      });
    }
    return offsets;
  }

  async readDeadLetters(topic: string, offsets: readonly string[]): Promise<(Buffer | null)[]> {
    const name = this.#topicName(deadLettersOf(topic));
    this.#requireConnected();
    await this.#ensure(topic);
    const ends = await this.#ends(deadLettersOf(topic));
    const { low = 0, high = 0 } = ends.find(({ partition }) => partition === DEAD_LETTERS_PARTITION) ?? {};
    const stored = new Set(offsets.map(Number).filter((offset) => offset >= low && offset < high));
    if (stored.size === 0) return offsets.map(() => null);
    const values = await this.#client.read(name, DEAD_LETTERS_PARTITION, stored);
    return offsets.map((offset) => values.get(Number(offset)) ?? null);
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#connected.reject(new Error('the log is closed'));
    await closeAll(
      () => this.#members.map((member) => member.close()),
      () => this.#producers.map((producer) => producer.disconnect()),
      () => [this.#client.admin.disconnect()],
    );
  }

  #send(topic: string, messages: readonly OutgoingMessage[], index = 0): Promise<string | null> {
    return (this.#producers[index] as SelfReplacingProducer).send(topic, messages);
  }

  /** Retries a call to the brokers until it succeeds, the log is closed or the caller aborts. */
  #retryWhileAway<T>(call: () => Promise<T>, given?: AbortSignal): Promise<T> {
    const { signal: closing } = this.#closing;
    const signal = given ? AbortSignal.any([closing, given]) : closing;
    const isFinal = (error: unknown) => signal.aborted || !this.#client.isRetriable(error);
    return retry(call, { waitMs: RETRY_MS, waitMsMax: RETRY_MS, isFinal, signal });
  }

  #ends(topic: string): Promise<PartitionEnds[]> {
    return this.#client.admin.ends(this.#topicName(topic));
  }

  #committed(topic: string, group: string): Promise<Map<number, number>> {
    return this.#client.admin.committed(this.#topicName(topic), this.#groupId(topic, group));
  }

  #requireConnected(): void {
    if (this.#isConnected) return;
    throw new ProductError(
      'service_unreachable',
      'Kafka does not answer',
      'no answer since the start of this process',
    );
  }

  async #ensure(topic: string): Promise<void> {
    await this.#connected.promise;
    await this.#ensured(topic);
  }

  #ensured(topic: string): Promise<void> {
    let ensured = this.#topics.get(topic);
    if (!ensured) {
      ensured = ensureTopic(this.#client, this.#topicName(topic), this.#config, this.#logger);
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
    return topicNameOf(topic, this.#config);
  }

  #groupId(topic: string, group: string): string {
    return groupIdOf(topic, group, this.#config);
  }
}
