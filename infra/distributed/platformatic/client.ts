import { setTimeout as pause } from 'node:timers/promises';
import {
  Admin,
  type BaseOptions,
  ConfigResourceTypes,
  ConnectionPool,
  compatibilityPartitioner,
  compressionsAlgorithms,
  findErrorBy,
  ListOffsetTimestamps,
  NetworkError,
  Producer,
} from '@platformatic/kafka';
import type { InfraSettings } from '../../config/settings.ts';
import type { Logger } from '../../logger.ts';
import { zstd } from '../compression.ts';
import type {
  KafkaAdmin,
  KafkaClient,
  KafkaConsumer,
  KafkaConsumerOptions,
  KafkaProducer,
  NewTopic,
  OutgoingMessage,
} from '../kafka-client.ts';
import { METADATA_MS } from '../kafka-refusal.ts';
import type { Committed, PartitionEnds } from '../partition-growth.ts';
import { platformaticAccess } from './access.ts';
import { PlatformaticConsumer } from './consumer.ts';
import { fetchFrom } from './fetch.ts';
import { decodeBatches, decompressWithin } from './record-batches.ts';

const RETRY_MS = 100;
const RETRY_MS_MAX = 2000;
const RETRIES = 5;
const READ_MS_MAX = 30_000;
const FETCH_WAIT_MS = 500;

/** Doubles from one attempt to the next. */
const retryDelay: NonNullable<BaseOptions['retryDelay']> = (_client, _operation, attempt) =>
  Math.min(RETRY_MS * 2 ** Math.max(0, attempt - 1), RETRY_MS_MAX);

export class PlatformaticClient implements KafkaClient {
  readonly admin: PlatformaticAdmin;
  readonly #config: InfraSettings;
  readonly #logger: Logger;
  readonly #base: BaseOptions;

  constructor(config: InfraSettings, logger: Logger) {
    // The client itself compresses on the event loop.
    Object.assign(compressionsAlgorithms.zstd, { compress: (bytes: Buffer) => zstd.compress(bytes) });
    this.#config = config;
    this.#logger = logger;
    this.#base = {
      clientId: 'chain-metrics',
      bootstrapBrokers: config.KAFKA_BROKERS.split(','),
      ...platformaticAccess(config),
      connectTimeout: 5000,
      requestTimeout: 30_000,
      timeout: 30_000,
      retries: RETRIES,
      retryDelay,
      metadataMaxAge: METADATA_MS,
      autocreateTopics: false,
    };
    this.admin = new PlatformaticAdmin(new Admin(this.#base));
  }

  producer(): KafkaProducer {
    return new PlatformaticProducer(this.#base);
  }

  consumer(options: KafkaConsumerOptions): KafkaConsumer {
    return new PlatformaticConsumer({
      ...options,
      config: this.#config,
      logger: this.#logger,
      admin: this.admin,
      base: this.#base,
    });
  }

  async read(topic: string, partition: number, offsets: ReadonlySet<number>): Promise<Map<number, Buffer>> {
    const values = new Map<number, Buffer>();
    const connections = new ConnectionPool(this.#base.clientId, this.#base);
    const end = performance.now() + READ_MS_MAX;
    const last = Math.max(...offsets);
    try {
      for (let next = Math.min(...offsets); next <= last && performance.now() < end; ) {
        const broker = await this.admin.leaderOf(topic, partition);
        const limits = { waitMs: FETCH_WAIT_MS, bytes: this.#config.KAFKA_FETCH_BYTES };
        const fetched = await fetchFrom(
          await connections.get(broker),
          topic,
          [{ partition, offset: next }],
          limits,
        );
        const [{ bytes, aborted, error } = { bytes: Buffer.alloc(0), aborted: [], error: 0 }] = fetched;
        if (error !== 0) {
          await pause(RETRY_MS);
          continue;
        }
        const open = decompressWithin(this.#config);
        const decoded = await decodeBatches(bytes, next, open, aborted);
        for (const { offset, value } of decoded.records)
          if (offsets.has(offset)) values.set(offset, value ?? Buffer.alloc(0));
        next = decoded.next;
      }
    } finally {
      await connections.close();
    }
    return values;
  }

  isRetriable(error: unknown): boolean {
    const { code } = error as { code?: string };
    return (
      NetworkError.isRetryable(error as Error) ||
      findErrorBy(error as Error, 'canRetry', true) !== null ||
      code === 'PLT_KFK_NETWORK' ||
      code === 'PLT_KFK_TIMEOUT'
    );
  }
}

class PlatformaticAdmin implements KafkaAdmin {
  readonly #admin: Admin;

  constructor(admin: Admin) {
    this.#admin = admin;
  }

  async connect(): Promise<void> {
    await this.#admin.metadata({ forceUpdate: true, retries: 0 });
  }

  topics(): Promise<string[]> {
    return this.#admin.listTopics();
  }

  async create(topics: readonly NewTopic[]): Promise<void> {
    for (const { topic, partitions, replicas, settings } of topics) {
      const configs = Object.entries(settings).map(([name, value]) => ({ name, value }));
      await this.#admin.createTopics({ topics: [topic], partitions, replicas, configs });
    }
  }

  async partitionsOf(topic: string): Promise<number> {
    const { topics } = await this.#admin.metadata({ topics: [topic], forceUpdate: true });
    return topics.get(topic)?.partitionsCount ?? 0;
  }

  async leaderOf(topic: string, partition: number) {
    const { topics, brokers } = await this.#admin.metadata({ topics: [topic] });
    const leader = brokers.get(topics.get(topic)?.partitions[partition]?.leader ?? -1);
    if (leader) return leader;
    this.#admin.clearMetadata();
    throw new Error(`no leader of partition ${partition} of ${topic} is known`);
  }

  async settingsOf(topic: string, names: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const [described] = await this.#admin.describeConfigs({
      resources: [
        { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configurationKeys: [...names] },
      ],
    });
    return new Map(described?.configs.map(({ name, value }) => [name, value ?? '']));
  }

  async ends(topic: string): Promise<PartitionEnds[]> {
    const { topics } = await this.#admin.metadata({ topics: [topic] });
    const count = topics.get(topic)?.partitionsCount ?? 0;
    const at = async (timestamp: bigint) => {
      const partitions = Array.from({ length: count }, (_, partitionIndex) => ({
        partitionIndex,
        timestamp,
      }));
      const [listed] = await this.#admin.listOffsets({ topics: [{ name: topic, partitions }] });
      return new Map(listed?.partitions.map((one) => [one.partitionIndex, Number(one.offset)]));
    };
    const [low, high] = await Promise.all([
      at(ListOffsetTimestamps.EARLIEST),
      at(ListOffsetTimestamps.LATEST),
    ]);
    return [...high].map(([partition, end]) => ({ partition, low: low.get(partition) ?? 0, high: end }));
  }

  async committed(topic: string, groupId: string): Promise<Map<number, Committed>> {
    const { topics } = await this.#admin.metadata({ topics: [topic] });
    const count = topics.get(topic)?.partitionsCount ?? 0;
    const partitionIndexes = Array.from({ length: count }, (_, partition) => partition);
    const [group] = await this.#admin.listConsumerGroupOffsets({
      groups: [{ groupId, topics: [{ name: topic, partitionIndexes }] }],
    });
    const partitions = group?.topics.find(({ name }) => name === topic)?.partitions ?? [];
    return new Map(
      partitions.map(({ partitionIndex, committedOffset, metadata }) => [
        partitionIndex,
        { offset: Number(committedOffset), note: metadata ?? '' },
      ]),
    );
  }

  async check(): Promise<void> {
    await this.#admin.metadata({ forceUpdate: true, retries: 0 });
  }

  async disconnect(): Promise<void> {
    await this.#admin.close();
  }
}

class PlatformaticProducer implements KafkaProducer {
  readonly #producer: Producer<Buffer, Buffer, Buffer, Buffer>;

  constructor(base: BaseOptions) {
    this.#producer = new Producer({
      ...base,
      idempotent: true,
      acks: -1,
      compression: 'zstd',
      maxInflights: 1,
      retries: true,
      partitioner: compatibilityPartitioner,
    });
  }

  async connect(): Promise<void> {
    await this.#producer.initIdempotentProducer({});
  }

  async send(topic: string, messages: readonly OutgoingMessage[]): Promise<string | null> {
    const { offsets } = await this.#producer.send({
      messages: messages.map(({ key, value, headers, partition }) => ({
        topic,
        value,
        ...(key === null ? {} : { key: Buffer.from(key) }),
        ...(headers && {
          headers: new Map(
            Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)]),
          ),
        }),
        ...(partition === undefined ? {} : { partition }),
      })),
    });
    return offsets?.[0]?.offset.toString() ?? null;
  }

  async disconnect(): Promise<void> {
    await this.#producer.close();
  }
}
