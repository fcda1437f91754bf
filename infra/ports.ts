import type { Readable } from 'node:stream';
import type { Sql } from './sql.ts';
import type { Table } from './table.ts';

/**
 * Profiles differ only in the implementations of the five ports: all code above them is the same. One suite of contract
 * tests runs against every implementation.
 */
export interface Runtime {
  readonly store: Store;
  readonly log: Log;
  readonly queue: Queue;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  /** The data directory or the address of the store, for messages. */
  readonly location: string;
  /** Warnings for the operator about the data directory. */
  readonly warnings: readonly string[];
  readonly damage: DamageList;
  /**
   * Resolves when all `needed` services answer. The other `used` services (default: all) are retried in the background
   * without a limit. Throws `service_unreachable` or `service_refused` for a needed service.
   */
  connect(needed: ReadonlySet<Service>, used?: ReadonlySet<Service>): Promise<void>;
  /** Opens the sequence of all processes; `newest` reads the highest number that is stored. */
  openSequence(newest: () => Promise<bigint>): Promise<Numbers>;
  /** Returns a consistent view of all stored data. Throws `usage` in the distributed profile. */
  freeze(): Promise<FrozenDirectory>;
  close(): Promise<void>;
}

/** A file of a frozen directory: its current path, and its path relative to the data directory. */
interface FrozenFile {
  readonly from: string;
  readonly to: string;
  readonly bytes: number;
}

/** A consistent view of a data directory. */
export interface FrozenDirectory {
  readonly takenAt: Date;
  /** How long writes to the store were blocked. */
  readonly heldMs: number;
  readonly files: readonly FrozenFile[];
  release(): void;
}

/** A service that may be unreachable. `keyValue` (Redis) also holds the jobs. */
export type Service = 'store' | 'log' | 'keyValue';

export interface Damage {
  readonly part: 'store' | 'log' | 'spool';
  readonly file: string;
  readonly lost: string;
  /** What the operator should do. */
  readonly advice: string;
}

/** Damaged data that no operator has dealt with yet. */
export interface DamageList {
  list(): readonly Damage[];
  add(found: Damage): void;
  /** Checks the database of the stored topics and adds its damage to the list. */
  checkLog(): void;
}

/** Increasing numbers that order reads and computations. */
export interface Numbers {
  /** Allocates `size` consecutive numbers and returns the first one. */
  take(size: number): bigint | Promise<bigint>;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export type Format = 'JSON' | 'CSV' | 'NDJSON' | 'Parquet' | 'Arrow';

/** Memory limit of a streamed query; without it only the limit of the engine applies. */
export interface StreamLimits {
  readonly memoryBytesMax: number;
}

/** Each lane has its own connections, so its queries never wait behind those of another lane. */
export type Lane = 'work' | 'readers' | 'probes';

export interface QueryOptions {
  /** `work` when absent. */
  readonly lane?: Lane;
  /** In the lane `readers`: yields to queries of other readers. */
  readonly isLowPriority?: boolean;
  /** Cancels the query, which then rejects with the reason of the signal. */
  readonly signal?: AbortSignal;
}

/** ClickHouse, the source of truth. */
export interface Store {
  rows<Row>(statement: Sql, options?: QueryOptions): Promise<Row[]>;
  /** The result in a format, rendered by ClickHouse. */
  bytes(statement: Sql, format: Format, options?: QueryOptions): Promise<Buffer>;
  /** Streams a result of any size; neither this process nor ClickHouse holds all of it in memory. */
  stream(statement: Sql, format: Format, limits?: StreamLimits): Promise<Readable>;
  /** Returns a small result as one file per value of `by`, an expression over its columns. */
  split(statement: Sql, by: Sql, format: Format, limits: StreamLimits): Promise<ReadonlyMap<string, Buffer>>;
  run(statement: Sql | string): Promise<void>;
  /**
   * Inserts a small number of rows, which are durable when it returns. Throws `store_refused` if the store cannot store
   * them, and `store_exhausted` if they are too large for one statement.
   */
  insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void>;
  /** Inserts rows that are JSON lines already: as one text, or each as its bytes without the line end. */
  insertLines(table: Table, columns: readonly string[], lines: string | readonly Pieces[]): Promise<void>;
  /** Stages a batch of JSON lines. The caller commits it, then discards it. */
  stage(table: Table, lines: readonly Pieces[]): Promise<StagedBatch>;
  /**
   * Batches that were staged but not discarded, oldest first. A commit that failed or was killed may have stored some of
   * their rows. Empty for a store whose log redelivers such batches.
   */
  unfinished(): Promise<StagedBatch[]>;
  close(): Promise<void>;
}

/** Bytes in one buffer or in consecutive ones, so that large values are not copied to be joined. */
export type Pieces = Buffer | readonly Buffer[];

export interface StagedBatch {
  /** Name of the landing table. */
  readonly table: string;
  /**
   * Inserts all lines. Throws `store_refused` if ClickHouse cannot parse them, and `store_exhausted` if their content or
   * size may be the cause of the failure. A retry needs a newer sequence.
   */
  commit(firstSequence: bigint): Promise<void>;
  /**
   * Deletes the batch. Call it once each line was inserted or refused. The dead letters may be stored later, since the log
   * acknowledges the messages only after that.
   */
  discard(): Promise<void>;
  /** Moves an unreadable batch aside: it counts as damage, and `unfinished` no longer returns it. */
  setAside(): Promise<void>;
  lines(): Promise<Buffer[]>;
}

/** The W3C header of a span: its trace, its id, and whether it is recorded. */
export type Traceparent = string;

export interface Message {
  readonly key: string;
  readonly value: Buffer;
  /** Size of the value in bytes; set if `value` is built lazily. */
  readonly size?: number;
  /** Why the value is truncated; absent if it is whole. */
  readonly refused?: string;
  /** Trace context of the publisher. Stored topics of the embedded log do not keep it. */
  readonly traceparent?: Traceparent;
}

/** A message at its offset. Offsets of a partition grow by one; messages of one key share a partition. */
export interface LogRecord extends Message {
  readonly partition: number;
  readonly offset: number;
}

export interface Ack {
  /** Resolves when the effects of the batch are durable. */
  readonly durable: Promise<void>;
}

/** A message that its consumer refused. */
export interface DeadLetterMessage {
  readonly value: Buffer;
  readonly reason: string;
  /** Source, file and line. */
  readonly origin: string;
  /** Number of attempts to process it. */
  readonly attempt: number;
}

/** A topic and the group that consumes it. */
export interface ConsumedTopic {
  readonly topic: string;
  readonly group: string;
}

/** A topic of the product. */
export interface TopicDefinition extends ConsumedTopic {
  /**
   * Whether the log is the only source of its messages. The embedded log stores such messages before it acknowledges
   * them; it acknowledges others once they are consumed.
   */
  readonly isStored: boolean;
}

/** Messages that a group has not consumed yet. */
export interface Lag extends ConsumedTopic {
  readonly messages: number;
  readonly partitions: readonly { readonly partition: number; readonly messages: number }[];
}

/** Ordered topics, as in Kafka. */
export interface Log {
  /** The name of the messaging system in traces. */
  readonly system: string;
  /**
   * Resolves when the messages are acknowledged: from then on they, or their effects, survive a kill. Messages may have
   * been delivered even if it rejects.
   */
  publish(topic: string, messages: readonly Message[]): Promise<void>;
  /**
   * Delivers each acknowledged message at least once: an offset is committed when the ack of its batch is durable. Batches
   * of one key arrive in order. The next batch may arrive once the handler returns, before earlier ones are durable. If a
   * batch does not become durable, Kafka redelivers it after a backoff, and the embedded log redelivers the messages of a
   * stored topic to the next process. Other messages of the embedded log are not redelivered: their `publish` rejects.
   */
  consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void>;
  /**
   * Resolves when a group has consumed all messages that were published to a topic before the call. Its members may run
   * in other processes that are down; aborting the signal ends the wait.
   */
  waitUntilConsumed(topic: string, group: string, signal?: AbortSignal): Promise<void>;
  /** Bytes of the largest message. */
  readonly messageBytesMax: number;
  /** Writes refused messages to the dead letter topic. Returns the offset of each, or null if the topic does not store it. */
  deadLetter(topic: string, messages: readonly DeadLetterMessage[]): Promise<(string | null)[]>;
  /** Reads the values of dead letters at these offsets; null for a message that is no longer stored. */
  readDeadLetters(topic: string, offsets: readonly string[]): Promise<(Buffer | null)[]>;
  /** Lag of all groups of the deployment, including groups without a running member. */
  lag(): Promise<Lag[]>;
  /** Resolves when the log answers. */
  check(): Promise<void>;
  close(): Promise<void>;
}

/** Jobs of a queue start in the order in which they were added. */
export interface Job<Data> {
  /** A job replaces a waiting job with the same id. If a job with this id is running, the new one runs after it. */
  readonly id: string;
  readonly data: Data;
}

export interface FailedJob {
  readonly id: string;
  readonly reason: string;
  readonly attempts: number;
}

export type JobHandler<Data> = (data: Data) => Promise<void> | Promise<number | undefined>;

export interface Queue {
  add<Data>(queue: string, job: Job<Data>): Promise<void>;
  /** If the handler returns a number of milliseconds, the job runs again after that time, unless it was added meanwhile. */
  process<Data>(queue: string, concurrency: number, handler: JobHandler<Data>): Promise<void>;
  /** Resolves when no job waits or runs. */
  idle(queue: string): Promise<void>;
  waiting(queue: string): Promise<number>;
  failed(queue: string): Promise<FailedJob[]>;
  close(): Promise<void>;
}

/**
 * Locks, counters and caches. All operations are atomic. A loss of all contents is harmless: caches are filled again from
 * the store, and counters begin at 0.
 */
export interface KeyValue {
  get(key: string): Promise<string | null>;
  /** Returns false when `onlyIfAbsent` is set and the key exists. */
  set(key: string, value: string, options?: { ttlMs?: number; onlyIfAbsent?: boolean }): Promise<boolean>;
  /** Reads and deletes a value; only one of several concurrent callers gets it. */
  take(key: string): Promise<string | null>;
  /** Deletes a value, a counter or a group. */
  delete(key: string): Promise<void>;
  /**
   * Adds to a counter and returns the sum. The counter expires `ttlMs` after its first addition.
   */
  increment(key: string, by: number, ttlMs: number): Promise<number>;
  /**
   * Reserves `size` consecutive numbers and returns the first one. It is above all numbers reserved before and not
   * below `atLeast`. Null when the key has no value: the caller sets the first number and calls again.
   */
  reserve(key: string, size: number, atLeast: bigint): Promise<bigint | null>;
  /** Joins a group for `ttlMs`, or renews the membership; false if the group has `membersMax` other members. 0: no limit. */
  join(group: string, member: string, ttlMs: number, membersMax?: number): Promise<boolean>;
  /** Prolongs a membership; false when it has expired or the group was deleted. */
  prolong(group: string, member: string, ttlMs: number): Promise<boolean>;
  /** Ends a membership; false when it had ended before. */
  leave(group: string, member: string): Promise<boolean>;
  members(group: string): Promise<string[]>;
  close(): Promise<void>;
}

export async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}
