import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { Batcher } from '../coordination/batcher.ts';
import { reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Ack, LogRecord } from '../ports.ts';
import { CUT_HEADER } from './batch-records.ts';
import { onFetchStart } from './compression.ts';
import { METADATA_MS } from './kafka.ts';
import { type GrowthDependencies, PartitionGrowth } from './partition-growth.ts';

export interface ConsumerOptions {
  readonly kafka: Kafka;
  readonly config: InfraSettings;
  readonly logger: Logger;
  readonly topic: string;
  readonly groupId: string;
  /** Compressed bytes of one fetch. */
  readonly fetchBytes: number;
  /** Handles records of any partitions, those of a partition in order. The next call does not wait for the ack. */
  readonly handle: (records: readonly LogRecord[]) => Promise<Ack>;
  readonly growth: GrowthDependencies;
}

/** Records of one call of the handler: more of them need memory and are not faster. */
const RECORDS_MAX = 20_000;
/** Interval in which a member learns that others have joined or left. */
const HEARTBEAT_MS = 1000;
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 15_000;
/** Partitions that are handled concurrently. */
const CONCURRENT_MAX = 256;
/** Wait before records of a new partition are tried again that come after others in an older one. */
const HOLD_MS = 250;
/** Wait before a consumer that crashed is replaced. */
const RESTART_MS = 1000;

/**
 * One member of a consumer group. Records that were fetched of several partitions are handled together, since a
 * statement of the store costs the same for few rows as for many. An offset is committed when its records are durable.
 * A failure pauses the partition for a while and then fetches from the committed offset again.
 */
export class GroupMember {
  readonly #options: ConsumerOptions;
  readonly #handling: Batcher<readonly LogRecord[], Ack>;
  readonly #growth: PartitionGrowth;
  #consumer: Consumer;
  #isClosed = false;
  /** The last commit of each partition; it fails when an earlier one failed. */
  readonly #commits = new Map<number, Promise<void>>();
  /** Partitions with a failed commit, until their records are delivered again. */
  readonly #failed = new Set<number>();
  /** The offset behind the last delivered record of each partition; a batch at another offset is a redelivery. */
  readonly #nextOffsets = new Map<number, number>();
  /** Consecutive failures of each partition. */
  readonly #failures = new Map<number, number>();
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#handling = new Batcher((chunks) => this.#handle(chunks), {
      limits: [{ max: options.config.BATCH_BYTES, of: bytesOf }],
    });
    this.#growth = new PartitionGrowth(options.growth);
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
      // New partitions are found within this time.
      metadataMaxAge: METADATA_MS,
      allowAutoTopicCreation: false,
      retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: 5, restartOnFailure: async () => true },
    });
    consumer.on(consumer.events.GROUP_JOIN, () => this.#growth.refresh());
    consumer.on(consumer.events.FETCH_START, onFetchStart);
    consumer.on(consumer.events.CRASH, ({ payload: { error, restart } }) => {
      if (!restart) this.#restart(error);
    });
    return consumer;
  }

  /** kafkajs does not restart after errors that it cannot retry, such as brokers that know no coordinator yet. */
  #restart(error: unknown): void {
    if (this.#isClosed) return;
    const { topic, logger } = this.#options;
    logger.warn({ topic, wait_ms: RESTART_MS, reason: reasonOf(error) }, 'the consumer restarts');
    this.#schedule(RESTART_MS, () => {
      this.#consumer = this.#newConsumer();
      this.start().catch((failure) => this.#restart(failure));
    });
  }

  #schedule(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  /** Throws when the brokers do not answer; it can be called again. */
  async start(): Promise<void> {
    const { topic } = this.#options;
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
      partitionsConsumedConcurrently: CONCURRENT_MAX,
      eachBatch: (payload) => this.#eachBatch(payload),
    });
  }

  /** Waits for the handler and its commits. The next member fetches what is not committed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#consumer.stop();
    await this.#handling.drain();
    await Promise.allSettled(this.#commits.values());
    for (const timer of this.#timers) clearTimeout(timer);
    await this.#consumer.disconnect();
  }

  async #eachBatch(payload: EachBatchPayload): Promise<void> {
    const { batch, heartbeat, isRunning, isStale, pause, resolveOffset } = payload;
    // When the group has removed this member, the next commit fails.
    const heartbeats = setInterval(
      () => heartbeat().catch(() => undefined),
      this.#options.config.KAFKA_SESSION_MS / 10,
    );
    const last = Number(batch.messages.at(-1)?.offset ?? -1);
    try {
      let until: number;
      try {
        until = await this.#growth.handledUntil(batch.partition, last);
      } catch (error) {
        return this.#backOff(payload, error);
      }
      for (const records of this.#chunks(payload, until)) {
        if (!isRunning() || isStale()) return;
        let ack: Ack;
        try {
          ack = await this.#handling.add(records);
        } catch (error) {
          return this.#backOff(payload, error);
        }
        resolveOffset(String(records.at(-1)?.offset ?? 0));
        await this.#commit(payload, records, ack.durable);
      }
      this.#failures.delete(batch.partition);
      if (until < last) this.#schedule(HOLD_MS, pause());
    } finally {
      clearInterval(heartbeats);
    }
  }

  /** Commits in order. Records that become durable late do not delay the next ones. */
  async #commit(
    payload: EachBatchPayload,
    records: readonly LogRecord[],
    durable: Promise<void>,
  ): Promise<void> {
    const { topic, partition } = payload.batch;
    const [first, last] = [records[0]?.offset ?? 0, records.at(-1)?.offset ?? 0];
    if (this.#nextOffsets.get(partition) !== first) {
      this.#failed.delete(partition);
      this.#commits.delete(partition);
    }
    this.#nextOffsets.set(partition, last + 1);
    const commit = (this.#commits.get(partition) ?? Promise.resolve()).then(async () => {
      await durable;
      const metadata = await this.#growth.note(partition);
      const offset = { partition, offset: String(last + 1), metadata };
      await payload.commitOffsetsIfNecessary({ topics: [{ topic, partitions: [offset] }] });
    });
    this.#commits.set(partition, commit);
    // Its failure is handled below; until then it must not count as unhandled.
    commit.catch(() => undefined);
    if (await isSettled(durable)) {
      // A failure that is thrown here makes kafkajs fetch from the committed offset again.
      commit.catch(() => {
        if (this.#commits.get(partition) === commit) this.#commits.delete(partition);
      });
      return commit;
    }
    commit.catch((error) => {
      // Later commits fail with the first one, which gives the offset to fetch from again.
      if (this.#failed.has(partition)) return;
      this.#failed.add(partition);
      this.#backOff(payload, error);
      this.#seek(partition, first);
    });
  }

  #seek(partition: number, offset: number): void {
    try {
      this.#consumer.seek({ topic: this.#options.topic, partition, offset: String(offset) });
    } catch {
      // The consumer is stopped: when it restarts, it fetches from the committed offset.
    }
  }

  async #handle(chunks: readonly (readonly LogRecord[])[]): Promise<Ack[]> {
    const ack = await this.#options.handle(chunks.flat());
    // Each partition awaits it after its earlier commits, which may be later than it fails.
    ack.durable.catch(() => undefined);
    return chunks.map(() => ack);
  }

  /** Pauses the partition; it is fetched again from its committed offset. */
  #backOff({ batch, pause }: EachBatchPayload, error: unknown): void {
    const { topic, partition } = batch;
    const failures = (this.#failures.get(partition) ?? 0) + 1;
    this.#failures.set(partition, failures);
    const waitMs = Math.min(BACKOFF_MS * 2 ** (failures - 1), BACKOFF_MS_MAX);
    const { logger } = this.#options;
    logger.warn(
      { topic, partition, failures, wait_ms: waitMs, reason: reasonOf(error) },
      'a batch is retried',
    );
    this.#schedule(waitMs, pause());
  }

  /** Splits a fetch up to an offset; it may decompress to many times its size. */
  *#chunks({ batch }: EachBatchPayload, until: number): Generator<LogRecord[]> {
    let chunk: LogRecord[] = [];
    let bytes = 0;
    for (const { key, value, offset, headers } of batch.messages) {
      if (Number(offset) > until) break;
      const size = value?.length ?? 0;
      if (
        chunk.length > 0 &&
        (bytes + size > this.#options.config.BATCH_BYTES || chunk.length >= RECORDS_MAX)
      ) {
        yield chunk;
        chunk = [];
        bytes = 0;
      }
      chunk.push({
        key: key?.toString('utf8') ?? '',
        value: value ?? Buffer.alloc(0),
        partition: batch.partition,
        offset: Number(offset),
        ...(headers?.[CUT_HEADER] === undefined ? {} : { refused: String(headers[CUT_HEADER]) }),
      });
      bytes += size;
    }
    if (chunk.length > 0) yield chunk;
  }
}

const bytesOf = (records: readonly LogRecord[]) => records.reduce((sum, { value }) => sum + value.length, 0);

/** Whether a promise has settled. */
async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  const onSettled = () => {
    settled = true;
  };
  promise.then(onSettled, onSettled);
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}
