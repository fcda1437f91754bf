import { closeAll } from '../close-all.ts';
import type { InfraSettings } from '../config/settings.ts';
import { Batcher } from '../coordination/batcher.ts';
import { reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { Ack, LogRecord } from '../ports.ts';
import type { FetchedBatch, KafkaClient, KafkaConsumer } from './kafka-client.ts';
import { describeKafkaError } from './kafka-refusal.ts';

interface ConsumerOptions {
  readonly client: KafkaClient;
  readonly config: InfraSettings;
  readonly logger: Logger;
  readonly topic: string;
  readonly groupId: string;
  /** Compressed bytes of one fetch. */
  readonly fetchBytes: number;
  /** Handles records of any partitions, those of a partition in order. The next call does not wait for the ack. */
  readonly handle: (records: readonly LogRecord[]) => Promise<Ack>;
}

/** Records of one call of the handler: more of them need memory and are not faster. */
const RECORDS_MAX = 20_000;
const BACKOFF_MS = 200;
const BACKOFF_MS_MAX = 15_000;
/** Answers to a commit of a member that must join again. It fetches from the committed offsets then. */
const JOINS_AGAIN = /REBALANCE_IN_PROGRESS|ILLEGAL_GENERATION|UNKNOWN_MEMBER_ID/;

/**
 * One member of a consumer group. Records that were fetched of several partitions are handled together, since a
 * statement of the store costs the same for few rows as for many. An offset is committed when its records are durable.
 * A failure pauses the partition for a while and then fetches from the committed offset again.
 */
export class GroupMember {
  readonly #options: ConsumerOptions;
  readonly #handling: Batcher<readonly LogRecord[], Ack>;
  readonly #consumer: KafkaConsumer;
  /** The last commit of each partition; it fails when an earlier one failed. */
  readonly #commits = new Map<number, Promise<void>>();
  /** Partitions with a failed commit, until their records are delivered again. */
  readonly #failed = new Set<number>();
  /** Partitions that were sought back, until records are delivered from there, or from further on where these are gone. */
  readonly #sought = new Set<number>();
  /** The offset behind the last delivered record of each partition; a batch at another offset is a redelivery. */
  readonly #nextOffsets = new Map<number, number>();
  /** Consecutive failures of each partition. */
  readonly #failures = new Map<number, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Assignments so far: what belongs to an earlier one says nothing of the partitions of this one. */
  #joins = 0;

  constructor(options: ConsumerOptions) {
    this.#options = options;
    this.#handling = new Batcher((chunks) => this.#handle(chunks), {
      limits: [{ max: options.config.BATCH_BYTES, of: bytesOf }],
    });
    const { client, topic, groupId, fetchBytes } = options;
    const onJoin = () => this.#onJoin();
    this.#consumer = client.consumer({ topic, groupId, fetchBytes, onJoin });
  }

  /** Partitions are fetched from their committed offsets, which others may have moved. */
  #onJoin(): void {
    this.#joins++;
    this.#commits.clear();
    this.#failed.clear();
    this.#sought.clear();
    this.#nextOffsets.clear();
  }

  #schedule(ms: number, work: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      work();
    }, ms);
    this.#timers.add(timer);
  }

  /** Throws when the brokers do not answer; it can be called again. */
  start(): Promise<void> {
    return this.#consumer.start((batch) => this.#eachBatch(batch));
  }

  /** Waits for the handler and its commits. The next member fetches what is not committed. */
  async close(): Promise<void> {
    await closeAll(
      () => [this.#consumer.stop()],
      () => [this.#handling.drain()],
      () => [Promise.allSettled(this.#commits.values())],
      () => {
        for (const timer of this.#timers) clearTimeout(timer);
        return [this.#consumer.disconnect()];
      },
    );
  }

  async #eachBatch(batch: FetchedBatch): Promise<void> {
    if (batch.records.length === 0) return this.#passOver(batch);
    // When the group has removed this member, the next commit fails.
    const heartbeats = setInterval(
      () => batch.heartbeat().catch(() => undefined),
      this.#options.config.KAFKA_SESSION_MS / 10,
    );
    const last = batch.records.at(-1)?.offset ?? -1;
    const joins = this.#joins;
    try {
      for (const records of this.#chunks(batch)) {
        if (!batch.isCurrent() || joins !== this.#joins) return;
        let ack: Ack;
        try {
          ack = await this.#handling.add(records);
        } catch (error) {
          return this.#backOff(batch, error);
        }
        if (joins !== this.#joins) return;
        const end = records.at(-1)?.offset ?? 0;
        const next = end === last ? batch.next : end + 1;
        batch.resolve(next);
        await this.#commit(batch, records[0]?.offset ?? 0, next, ack.durable);
      }
      this.#failures.delete(batch.partition);
    } finally {
      clearInterval(heartbeats);
    }
  }

  /** Commits offsets without records, or the group would never have consumed the partition to its end. */
  #passOver(batch: FetchedBatch): void {
    const { partition, next } = batch;
    const joins = this.#joins;
    batch.resolve(next);
    this.#nextOffsets.set(partition, next);
    const commit = (this.#commits.get(partition) ?? Promise.resolve()).then(async () => {
      if (joins !== this.#joins) return;
      // When it fails, the next commit moves the offset on.
      await batch.commit(next).catch(() => undefined);
    });
    this.#commits.set(partition, commit);
    commit.catch(() => undefined);
  }

  /** Commits in order. Records that become durable late do not delay the next ones. */
  async #commit(batch: FetchedBatch, first: number, next: number, durable: Promise<void>): Promise<void> {
    const { partition } = batch;
    const expected = this.#nextOffsets.get(partition);
    // Further on without a seek are records behind a marker or behind such as were compacted away.
    const isSought = this.#sought.has(partition) && first !== expected;
    if (expected === undefined || first < expected || isSought) {
      this.#sought.delete(partition);
      this.#failed.delete(partition);
      this.#commits.delete(partition);
    }
    this.#nextOffsets.set(partition, next);
    const joins = this.#joins;
    const commit = (this.#commits.get(partition) ?? Promise.resolve()).then(async () => {
      await durable;
      await batch.commit(next);
    });
    this.#commits.set(partition, commit);
    // Its failure is handled below; until then it must not count as unhandled.
    commit.catch(() => undefined);
    if (await isSettled(durable)) {
      // After a failure that is thrown here the partition is fetched from its committed offset again.
      commit.catch(() => {
        if (this.#commits.get(partition) === commit) this.#commits.delete(partition);
      });
      return commit;
    }
    commit.catch((error) => {
      // Later commits fail with the first one, which gives the offset to fetch from again.
      if (joins !== this.#joins || this.#failed.has(partition)) return;
      this.#failed.add(partition);
      this.#backOff(batch, error);
      if (JOINS_AGAIN.test(describeKafkaError(error))) return;
      this.#sought.add(partition);
      this.#consumer.seek(partition, first);
    });
  }

  async #handle(chunks: readonly (readonly LogRecord[])[]): Promise<Ack[]> {
    const ack = await this.#options.handle(chunks.flat());
    // Each partition awaits it after its earlier commits, which may be later than it fails.
    ack.durable.catch(() => undefined);
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

  /** Splits a fetch, which may decompress to many times its size. */
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
