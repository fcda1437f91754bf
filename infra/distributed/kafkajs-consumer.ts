import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { reasonOf } from '../errors.ts';
import { ignore } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import { CUT_HEADER } from './batch-records.ts';
import type { FetchedBatch, KafkaConsumer, KafkaConsumerOptions } from './kafka-client.ts';
import { METADATA_MS } from './kafka-refusal.ts';
import { onFetchStart } from './kafkajs-codecs.ts';

interface KafkajsConsumerOptions extends KafkaConsumerOptions {
  readonly kafka: Kafka;
  readonly sessionMs: number;
  readonly logger: Logger;
}

/** Interval of heartbeats, by which a member learns that others have joined or left. */
const HEARTBEAT_MS = 1000;
/** Partitions that are handled concurrently. */
const CONCURRENT_MAX = 256;
/** Wait before a crashed consumer is replaced. */
const RESTART_MS = 1000;

type Handle = (batch: FetchedBatch) => Promise<void>;

export class KafkajsConsumer implements KafkaConsumer {
  readonly #options: KafkajsConsumerOptions;
  #consumer: Consumer;
  #isStopped = false;
  #restarting: NodeJS.Timeout | undefined;
  #handle: Handle = async () => undefined;

  constructor(options: KafkajsConsumerOptions) {
    this.#options = options;
    this.#consumer = this.#newConsumer();
  }

  async start(handle: Handle): Promise<void> {
    this.#handle = handle;
    try {
      await this.#consumer.connect();
      await this.#consumer.subscribe({ topics: [this.#options.topic], fromBeginning: true });
    } catch (error) {
      // Throws the connection failure; a new consumer replaces this one.
      await this.#consumer.disconnect().catch(ignore('kafka.consumer'));
      this.#consumer = this.#newConsumer();
      throw error;
    }
    // `stop` was called while it connected.
    if (this.#isStopped) return this.#consumer.disconnect();
    await this.#consumer.run({
      autoCommit: false,
      eachBatchAutoResolve: false,
      partitionsConsumedConcurrently: CONCURRENT_MAX,
      eachBatch: (payload) => handle(batchOf(payload)),
    });
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#restarting);
    await this.#consumer.stop();
  }

  disconnect(): Promise<void> {
    return this.#consumer.disconnect();
  }

  #newConsumer(): Consumer {
    const { kafka, topic, groupId, fetchBytes, sessionMs } = this.#options;
    const consumer = kafka.consumer({
      groupId,
      sessionTimeout: sessionMs,
      heartbeatInterval: Math.min(HEARTBEAT_MS, Math.floor(sessionMs / 10)),
      rebalanceTimeout: Math.max(60_000, sessionMs),
      maxBytes: fetchBytes,
      maxBytesPerPartition: fetchBytes,
      minBytes: 1,
      maxWaitTimeInMs: 500,
      metadataMaxAge: METADATA_MS,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: 5, restartOnFailure: async () => true },
    });
    consumer.on(consumer.events.FETCH_START, onFetchStart);
    // kafkajs does not deliver batches without records, such as markers of transactions.
    consumer.on(consumer.events.START_BATCH_PROCESS, ({ payload: { partition, batchSize, lastOffset } }) => {
      if (batchSize === 0) void this.#handle(emptyBatch(consumer, topic, partition, Number(lastOffset) + 1));
    });
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) this.#restart(error);
    });
    return consumer;
  }

  /** Replaces the consumer. kafkajs stops it after some errors, such as one of brokers without a coordinator yet. */
  #restart(error: unknown): void {
    if (this.#isStopped) return;
    const { topic, logger } = this.#options;
    logger.warn({ topic, wait_ms: RESTART_MS, reason: reasonOf(error) }, 'the consumer restarts');
    this.#restarting = setTimeout(() => {
      this.#consumer = this.#newConsumer();
      this.start(this.#handle).catch((failure) => this.#restart(failure));
    }, RESTART_MS);
  }
}

const batchOf = ({ batch, ...payload }: EachBatchPayload): FetchedBatch => ({
  partition: batch.partition,
  records: batch.messages.map(({ key, value, offset, headers }) => ({
    key,
    value,
    offset: Number(offset),
    ...(headers?.[CUT_HEADER] === undefined ? {} : { cut: String(headers[CUT_HEADER]) }),
    ...(headers?.traceparent === undefined ? {} : { traceparent: String(headers.traceparent) }),
  })),
  next: Number(batch.lastOffset()) + 1,
  heartbeat: payload.heartbeat,
  isCurrent: () => payload.isRunning() && !payload.isStale(),
  pause: payload.pause,
  resolve: (offset) => payload.resolveOffset(String(offset - 1)),
  commit: (offset) => {
    const { topic, partition } = batch;
    const partitions = [{ partition, offset: String(offset) }];
    return payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions }] });
  },
});

const emptyBatch = (consumer: Consumer, topic: string, partition: number, next: number): FetchedBatch => ({
  partition,
  records: [],
  next,
  heartbeat: async () => undefined,
  isCurrent: () => true,
  pause: () => () => undefined,
  resolve: () => undefined,
  commit: (offset) => consumer.commitOffsets([{ topic, partition, offset: String(offset) }]),
});
