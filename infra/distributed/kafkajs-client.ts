import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import kafkajs, { type Admin, type Kafka, type KafkaConfig, type Producer } from 'kafkajs';
import { ignore } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import { kafkaAccess } from './kafka-access.ts';
import type {
  KafkaAdmin,
  KafkaClient,
  KafkaConsumer,
  KafkaConsumerOptions,
  KafkaProducer,
  NewTopic,
  OutgoingMessage,
  PartitionEnds,
} from './kafka-client.ts';
import { METADATA_MS } from './kafka-refusal.ts';
import { limitDecompression, ZSTD } from './kafkajs-codecs.ts';
import { KafkajsConsumer } from './kafkajs-consumer.ts';
import type { DistributedSettings } from './settings.ts';

const { Kafka: Client, logLevel } = kafkajs;
const READ_MS_MAX = 30_000;

/** Limit of decompressed bytes of one fetch; a single larger batch is truncated. */
const DECOMPRESSED_BYTES = 128 * 2 ** 20;

export class KafkajsClient implements KafkaClient {
  readonly admin: KafkaAdmin;
  readonly #kafka: Kafka;
  readonly #admin: Admin;
  readonly #config: DistributedSettings;
  readonly #logger: Logger;

  constructor(config: DistributedSettings, logger: Logger) {
    limitDecompression({
      messageBytes: config.KAFKA_MESSAGE_BYTES,
      fetchBytes: DECOMPRESSED_BYTES,
    });
    this.#config = config;
    this.#logger = logger;
    this.#kafka = new Client({
      clientId: 'chain-metrics',
      brokers: config.KAFKA_BROKERS.split(','),
      ...kafkaAccess(config),
      connectionTimeout: 5000,
      requestTimeout: 30_000,
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: 5 },
      logLevel: logLevel.WARN,
      logCreator: logTo(logger),
    });
    this.#admin = this.#kafka.admin();
    this.admin = new KafkajsAdmin(this.#admin);
  }

  producer(): KafkaProducer {
    return new KafkajsProducer(
      this.#kafka.producer({
        idempotent: true,
        metadataMaxAge: METADATA_MS,
        allowAutoTopicCreation: false,
        maxInFlightRequests: 1,
        retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: Number.MAX_SAFE_INTEGER },
      }),
    );
  }

  consumer(options: KafkaConsumerOptions): KafkaConsumer {
    const sessionMs = this.#config.KAFKA_SESSION_MS;
    return new KafkajsConsumer({ ...options, kafka: this.#kafka, sessionMs, logger: this.#logger });
  }

  /** kafkajs reads only as a member of a group, so this creates a temporary one. */
  async read(topic: string, partition: number, offsets: ReadonlySet<number>): Promise<Map<number, Buffer>> {
    const values = new Map<number, Buffer>();
    const groupId = `${this.#config.KAFKA_PREFIX}dead-letters-${randomUUID()}`;
    const consumer = this.#kafka.consumer({ groupId, allowAutoTopicCreation: false });
    try {
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      const read = Promise.withResolvers<void>();
      await consumer.run({
        autoCommit: false,
        eachMessage: async ({ partition: of, message: { offset, value } }) => {
          if (of === partition && offsets.has(Number(offset)))
            values.set(Number(offset), value ?? Buffer.alloc(0));
          if (values.size === offsets.size) read.resolve();
        },
      });
      consumer.seek({ topic, partition, offset: String(Math.min(...offsets)) });
      await Promise.race([read.promise, setTimeout(READ_MS_MAX, undefined, { ref: false })]);
    } finally {
      await consumer.disconnect();
      // A group without members expires at the brokers.
      await this.#admin.deleteGroups([groupId]).catch(ignore('kafka.group'));
    }
    return values;
  }

  /** kafkajs marks either the error or its cause as retriable. */
  isRetriable(error: unknown): boolean {
    const { name, retriable, cause } = error as { name?: string; retriable?: boolean; cause?: unknown };
    // Brokers that have just started have not elected group coordinators yet.
    if (retriable === true || name === 'KafkaJSGroupCoordinatorNotFound') return true;
    return cause !== undefined && cause !== null && this.isRetriable(cause);
  }
}

class KafkajsAdmin implements KafkaAdmin {
  readonly #admin: Admin;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  connect(): Promise<void> {
    return this.#admin.connect();
  }

  topics(): Promise<string[]> {
    return this.#admin.listTopics();
  }

  async create(topics: readonly NewTopic[]): Promise<void> {
    await this.#admin.createTopics({
      waitForLeaders: true,
      topics: topics.map(({ topic, partitions, replicas, settings }) => ({
        topic,
        numPartitions: partitions,
        replicationFactor: replicas,
        configEntries: Object.entries(settings).map(([name, value]) => ({ name, value })),
      })),
    });
  }

  async partitionsOf(topic: string): Promise<number> {
    const { topics } = await this.#admin.fetchTopicMetadata({ topics: [topic] });
    return topics[0]?.partitions.length ?? 0;
  }

  async settingsOf(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const { resources } = await this.#admin.describeConfigs({
      includeSynonyms: false,
      resources: [{ type: kafkajs.ConfigResourceTypes.TOPIC, name: topic, configNames: [...names] }],
    });
    const entries = resources[0]?.configEntries ?? [];
    return new Map(entries.map(({ configName, configValue }) => [configName, configValue]));
  }

  async ends(topic: string): Promise<PartitionEnds[]> {
    const ends = await this.#admin.fetchTopicOffsets(topic);
    return ends.map(({ partition, low, high }) => ({ partition, low: Number(low), high: Number(high) }));
  }

  async committed(topic: string, groupId: string): Promise<Map<number, number>> {
    const [offsets] = await this.#admin.fetchOffsets({ groupId, topics: [topic] });
    return new Map(offsets?.partitions.map(({ partition, offset }) => [partition, Number(offset)]));
  }

  async check(): Promise<void> {
    await this.#admin.describeCluster();
  }

  disconnect(): Promise<void> {
    return this.#admin.disconnect();
  }
}

class KafkajsProducer implements KafkaProducer {
  readonly #producer: Producer;

  constructor(producer: Producer) {
    this.#producer = producer;
  }

  connect(): Promise<void> {
    return this.#producer.connect();
  }

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<string | null> {
    const record = { topic, messages: messages.map((one) => ({ ...one })), acks: -1, compression: ZSTD };
    const [metadata] = await this.#producer.send(record);
    return metadata?.baseOffset ?? null;
  }

  disconnect(): Promise<void> {
    return this.#producer.disconnect();
  }
}

/** Forwards the log of kafkajs, which logs errors that it retries and throws all others. */
const logTo =
  (logger: Logger): NonNullable<KafkaConfig['logCreator']> =>
  () =>
  ({ log: { message, error, ...facts }, level }) => {
    const { groupId: group, topic, broker } = facts as Record<string, unknown>;
    const text = { kafka: { message, reason: error && String(error), group, topic, broker } };
    if (level === logLevel.ERROR) logger.warn(text, 'Kafka');
    else logger.debug(text, 'Kafka');
  };
