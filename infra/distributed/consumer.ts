import { closeAll } from '../close-all.ts';
import { Batcher } from '../coordination/batcher.ts';
import { reasonOf } from '../errors.ts';
import { ignore } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import type { Ack, LogRecord } from '../ports.ts';
import type { FetchedBatch, KafkaClient, KafkaConsumer } from './kafka-client.ts';
import type { DistributedSettings } from './settings.ts';

interface ConsumerOptions {
  readonly client: KafkaClient;
  readonly config: DistributedSettings;
  readonly logger: Logger;
  readonly topic: string;
  readonly groupId: string;
  /** Compressed bytes of one fetch. */
  readonly fetchBytes: number;
  /** Handles records of several partitions, in order within a partition. Other partitions do not wait for the ack. */
  readonly handle: (records: readonly LogRecord[]) => Promise<Ack>;
}

/** Records of one call of the handler. More would need memory without being faster. */
const RECORDS_MAX = 20_000;
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 15_000;

/**
 * A member of a consumer group. It handles records of several partitions together, since a statement of the store costs
 * the same for few rows as for many. When the records of a partition are durable, it commits their offset and handles the
 * next records of that partition. A failure pauses the partition; then it is fetched again from the committed offset.
 */
export class GroupMember {
  readonly #options: ConsumerOptions;
  readonly #handling: Batcher<readonly LogRecord[], Ack>;
  readonly #consumer: KafkaConsumer;
  /** Consecutive failures of each partition. */
  readonly #failures = new Map<number, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Batches in progress. */
  readonly #batches = new Set<Promise<void>>();

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#handling = new Batcher((chunks) => this.#handle(chunks), {
      limits: [{ max: options.config.BATCH_BYTES, of: bytesOf }],
    });
    const { client, topic, groupId, fetchBytes } = options;
    this.#consumer = client.consumer({ topic, groupId, fetchBytes });
  }

  #schedule(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  /** Throws if the brokers do not answer; call it again to retry. */
  start(): Promise<void> {
    return this.#consumer.start((batch) => {
      const handled = this.#eachBatch(batch).finally(() => this.#batches.delete(handled));
      this.#batches.add(handled);
      return handled;
    });
  }

  /** Waits for the handler and its commits. Another member then fetches everything that is not committed. */
  async close(): Promise<void> {
    await closeAll(
      () => [this.#consumer.stop()],
      () => [this.#handling.drain()],
      () => [Promise.allSettled(this.#batches)],
      () => {
        for (const timer of this.#timers) clearTimeout(timer);
        return [this.#consumer.disconnect()];
      },
    );
  }

  async #eachBatch(batch: FetchedBatch): Promise<void> {
    if (batch.records.length === 0) return this.#passOver(batch);
    // Ignores an error: if the group has removed this member, the next commit fails.
    const heartbeats = setInterval(
      () => batch.heartbeat().catch(ignore('kafka.heartbeat')),
      this.#options.config.KAFKA_SESSION_MS / 10,
    );
    const last = batch.records.at(-1)?.offset;
    try {
      for (const records of this.#chunks(batch)) {
        if (!batch.isCurrent()) return;
        const end = records.at(-1)?.offset ?? 0;
        const next = end === last ? batch.next : end + 1;
        const ack = await this.#handling.add(records);
        await ack.durable;
        await batch.commit(next);
        batch.resolve(next);
      }
      this.#failures.delete(batch.partition);
    } catch (error) {
      this.#backOff(batch, error);
    } finally {
      clearInterval(heartbeats);
    }
  }

  /** Commits the offsets of a batch without records; otherwise the group would never reach the end of the partition. */
  async #passOver(batch: FetchedBatch): Promise<void> {
    batch.resolve(batch.next);
    // If this fails, the next commit includes these offsets.
    await batch.commit(batch.next).catch(ignore('kafka.commit'));
  }

  async #handle(chunks: readonly (readonly LogRecord[])[]): Promise<Ack[]> {
    const ack = await this.#options.handle(chunks.flat());
    return chunks.map(() => ack);
  }

  /** Pauses the partition; it is fetched again from its committed offset. */
  #backOff({ partition, pause }: FetchedBatch, error: unknown): void {
    const failures = (this.#failures.get(partition) ?? 0) + 1;
    this.#failures.set(partition, failures);
    const waitMs = Math.min(BACKOFF_MS * 2 ** (failures - 1), BACKOFF_MS_MAX);
    const { logger, topic } = this.#options;
    logger.warn(
      { topic, partition, failures, wait_ms: waitMs, reason: reasonOf(error) },
      'a batch is retried',
    );
    this.#schedule(waitMs, pause());
  }

  /** Splits a decompressed batch, which may be many times larger than the compressed one. */
  *#chunks({ partition, records }: FetchedBatch): Generator<LogRecord[]> {
    let chunk: LogRecord[] = [];
    let bytes = 0;
    for (const { key, value, offset, cut, traceparent } of records) {
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
        partition,
        offset,
        ...(cut === undefined ? {} : { refused: cut }),
        ...(traceparent === undefined ? {} : { traceparent }),
      });
      bytes += size;
    }
    if (chunk.length > 0) yield chunk;
  }
}

const bytesOf = (records: readonly LogRecord[]) => records.reduce((sum, { value }) => sum + value.length, 0);
