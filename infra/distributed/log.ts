import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { crc32 } from 'node:zlib';
import type { Admin, Kafka, Producer } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { Mutex } from '../coordination/lock.ts';
import { retryUntilReady } from '../coordination/retry.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Ack, DeadLetterMessage, Lag, Log, LogRecord, Message } from '../ports.ts';
import { GroupMember } from './consumer.ts';
import { kafkaRefusal, openKafka, ZSTD } from './kafka.ts';
import { deadLettersOf, ensureTopic } from './topics.ts';

/** One request to a broker holds no more: with any spread over partitions a batch stays below the topic's limit. */
const REQUEST_BYTES = 4 * 2 ** 20;
/** How many batches a process takes at a time where it may: one is handled and the next one made ready. */
const SUBSCRIBED_MEMBERS = 2;
/** Producers beside each other: one packs while the other waits for the brokers. A key keeps to its lane. */
const LANES = 2;
const SETTLE_POLL_MS = 25;
const AWAY_POLL_MS = 500;
const EXHUME_MS_MAX = 30_000;
const SETTLED: Ack = { durable: Promise.resolve() };
/** After these a producer's numbers are of no use any more; its messages are, and all of them bear repetition. */
const LOST_NUMBERS = /OUT_OF_ORDER_SEQUENCE|UNKNOWN_PRODUCER_ID|INVALID_PRODUCER_EPOCH|INVALID_PRODUCER_ID/;

/** Kafka. Topics are made or checked before their first use; each group of a topic is a consumer group of its own. */
export class DistributedLog implements Log {
  readonly redelivers = true;
  readonly messageBytesMax: number;
  readonly #config: InfraSettings;
  readonly #logger: Logger;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #producers: Producer[];
  #isClosed = false;
  readonly #known = new Map<string, Promise<void>>();
  /** By topic and lane. */
  readonly #turns = new Map<string, Mutex>();
  readonly #groups: { topic: string; group: string; members: readonly GroupMember[] }[] = [];

  private constructor(config: InfraSettings, logger: Logger) {
    this.#config = config;
    this.#logger = logger;
    this.messageBytesMax = config.KAFKA_MESSAGE_BYTES;
    this.#kafka = openKafka(config, logger);
    this.#admin = this.#kafka.admin();
    this.#producers = Array.from({ length: LANES }, () => this.#newProducer());
  }

  /** Waits for the brokers; refuses wrong credentials at once. */
  static async open(
    config: InfraSettings,
    logger: Logger,
    topics: readonly string[] = [],
  ): Promise<DistributedLog> {
    const log = new DistributedLog(config, logger);
    const setting = `KAFKA_BROKERS=${config.KAFKA_BROKERS}`;
    try {
      await retryUntilReady(
        setting,
        config.SERVICE_WAIT_SECONDS,
        async () => {
          await log.#admin.connect();
          for (const topic of topics) await log.#ensure(topic);
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
    const lanes = Map.groupBy(messages, ({ key }) => crc32(key) % LANES);
    await Promise.all(
      [...lanes].map(([lane, some]) =>
        this.#turn(`${topic} ${lane}`).run(async () => {
          for (const request of requests(some)) await this.#send(this.#named(topic), request, lane);
        }),
      ),
    );
  }

  /** While the batch of one member is handled, the other fetches and unpacks the next one of its partitions. */
  async subscribe<Ready>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Ready,
  ): Promise<void> {
    await this.#join(topic, group, SUBSCRIBED_MEMBERS, async (batch) => {
      await handler(prepare ? prepare(batch) : (batch as Ready));
      return SETTLED;
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
    await this.#patiently(() => this.#ensure(topic));
    const ends = await this.#patiently(() => this.#admin.fetchTopicOffsets(this.#named(topic)));
    for (;;) {
      const done = await this.#patiently(() => this.#committed(topic, group));
      const isDone = ends.every(
        ({ partition, high, low }) => high === low || (done.get(partition) ?? -1) >= Number(high),
      );
      if (isDone) return;
      await pause(SETTLE_POLL_MS);
    }
  }

  async lag(): Promise<Lag[]> {
    return Promise.all(
      this.#groups.map(async ({ topic, group }) => {
        const [ends, done] = await Promise.all([
          this.#admin.fetchTopicOffsets(this.#named(topic)),
          this.#committed(topic, group),
        ]);
        const messages = ends.reduce(
          (sum, { partition, high, low }) =>
            sum + Math.max(0, Number(high) - Math.max(Number(low), done.get(partition) ?? 0)),
          0,
        );
        return { topic, group, messages };
      }),
    );
  }

  async deadLetter(topic: string, letters: readonly DeadLetterMessage[]): Promise<(string | null)[]> {
    await this.#ensure(topic);
    const places: (string | null)[] = [];
    for (const letter of letters) {
      // Longer than any message: only its first bytes are kept, where everybody's are.
      if (letter.value.length > this.messageBytesMax) {
        places.push(null);
        continue;
      }
      const headers = {
        'x-reason': letter.reason,
        'x-origin': letter.origin,
        'x-attempt': String(letter.attempt),
      };
      const offset = await this.#send(this.#named(deadLettersOf(topic)), [
        { key: null, value: letter.value, headers },
      ]);
      places.push(offset);
    }
    return places;
  }

  async readDeadLetters(topic: string, places: readonly string[]): Promise<(Buffer | null)[]> {
    const name = this.#named(deadLettersOf(topic));
    await this.#ensure(topic);
    const [ends] = await this.#admin.fetchTopicOffsets(name);
    const [low, high] = [Number(ends?.low), Number(ends?.high)];
    const wanted = places.map(Number).filter((place) => place >= low && place < high);
    if (wanted.length === 0) return places.map(() => null);
    const found = new Map<string, Buffer>();
    const groupId = this.#groupId(topic, `exhume-${randomUUID()}`);
    const consumer = this.#kafka.consumer({ groupId, allowAutoTopicCreation: false });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [name], fromBeginning: true });
      const all = Promise.withResolvers<void>();
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ message }) => {
          if (wanted.includes(Number(message.offset)))
            found.set(message.offset, message.value ?? Buffer.alloc(0));
          if (found.size >= new Set(wanted).size) all.resolve();
        },
      });
      consumer.seek({ topic: name, partition: 0, offset: String(Math.min(...wanted)) });
      const late = setTimeout(() => all.resolve(), EXHUME_MS_MAX);
      await all.promise;
      clearTimeout(late);
    } finally {
      await consumer.disconnect();
      await this.#admin.deleteGroups([groupId]).catch(() => undefined);
    }
    return places.map((place) => found.get(place) ?? null);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all(this.#groups.flatMap(({ members }) => members.map((member) => member.close())));
    await Promise.all(this.#producers.map((producer) => producer.disconnect()));
    await this.#admin.disconnect();
  }

  async #join(
    topic: string,
    group: string,
    count: number,
    take: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void> {
    await this.#patiently(() => this.#ensure(topic));
    const options = {
      kafka: this.#kafka,
      config: this.#config,
      logger: this.#logger,
      topic: this.#named(topic),
      groupId: this.#groupId(topic, group),
      fetchBytes: Math.ceil(this.#config.KAFKA_FETCH_BYTES / count),
      take,
    };
    const members = Array.from({ length: count }, () => new GroupMember(options));
    this.#groups.push({ topic, group, members });
    await Promise.all(members.map((member) => this.#patiently(() => member.start())));
  }

  /** Sends with acknowledgement of all replicas and returns the offset of the first message of the last partition. */
  async #send(
    topic: string,
    messages: readonly { key: string | null; value: Buffer; headers?: Record<string, string> }[],
    lane = 0,
  ): Promise<string | null> {
    const record = { topic, messages: [...messages], acks: -1, compression: ZSTD };
    try {
      const [metadata] = await (this.#producers[lane] as Producer).send(record);
      return metadata?.baseOffset ?? null;
    } catch (error) {
      const reason = `${(error as { type?: string }).type} ${reasonOf(error)}`;
      if (!LOST_NUMBERS.test(reason))
        throw new ProductError('store_failed', `Kafka did not take messages of ${topic}`, reason);
      this.#logger.warn({ topic, reason }, 'the producer starts anew');
      await this.#producers[lane]?.disconnect();
      const producer = this.#newProducer();
      this.#producers[lane] = producer;
      await producer.connect();
      const [metadata] = await producer.send(record);
      return metadata?.baseOffset ?? null;
    }
  }

  #newProducer(): Producer {
    return this.#kafka.producer({
      idempotent: true,
      allowAutoTopicCreation: false,
      maxInFlightRequests: 1,
      // While Kafka is away its publishers wait for it.
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: Number.MAX_SAFE_INTEGER },
    });
  }

  /** Who waits for others to read also waits for Kafka to be back. */
  async #patiently<T>(ask: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await ask();
      } catch (error) {
        if (this.#isClosed || !isPassing(error)) throw error;
        await pause(AWAY_POLL_MS);
      }
    }
  }

  async #committed(topic: string, group: string): Promise<Map<number, number>> {
    const [offsets] = await this.#admin.fetchOffsets({
      groupId: this.#groupId(topic, group),
      topics: [this.#named(topic)],
    });
    return new Map(offsets?.partitions.map(({ partition, offset }) => [partition, Number(offset)]) ?? []);
  }

  #ensure(topic: string): Promise<void> {
    let known = this.#known.get(topic);
    if (!known) {
      known = ensureTopic(this.#admin, this.#named(topic), this.#config);
      this.#known.set(topic, known);
      known.catch(() => this.#known.delete(topic));
    }
    return known;
  }

  #turn(lane: string): Mutex {
    const known = this.#turns.get(lane) ?? new Mutex();
    this.#turns.set(lane, known);
    return known;
  }

  #named(topic: string): string {
    return `${this.#config.KAFKA_PREFIX}${topic}`;
  }

  /** Members of one group must want the same topics, so each topic has groups of its own. */
  #groupId(topic: string, group: string): string {
    return `${this.#config.KAFKA_PREFIX}${group}.${topic}`;
  }
}

function* requests(messages: readonly Message[]): Generator<Message[]> {
  let some: Message[] = [];
  let bytes = 0;
  for (const message of messages) {
    if (some.length > 0 && bytes + message.value.length > REQUEST_BYTES) {
      yield some;
      some = [];
      bytes = 0;
    }
    some.push(message);
    bytes += message.value.length;
  }
  if (some.length > 0) yield some;
}

/** What may be gone at the next try: kafkajs says so of the error itself, or of the one that it gave up on. */
function isPassing(error: unknown): boolean {
  const { name, retriable, cause } = error as { name?: string; retriable?: boolean; cause?: unknown };
  // Brokers that have just started know no coordinators yet.
  if (retriable === true || name === 'KafkaJSGroupCoordinatorNotFound') return true;
  return cause !== undefined && cause !== null && isPassing(cause);
}
