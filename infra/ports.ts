import type { Readable } from 'node:stream';
import type { Sql } from './clickhouse/sql.ts';
import type { Table } from './clickhouse/table.ts';

/**
 * The five ports are the only place where profiles differ. Everything above them is the same code; one suite
 * of port tests runs against every implementation.
 */
export interface Runtime {
  readonly store: Store;
  readonly log: Log;
  readonly queue: Queue;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  close(): Promise<void>;
}

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

export type Format = 'JSON' | 'CSV' | 'NDJSON' | 'Parquet' | 'Arrow';

/** ClickHouse, the record of truth. */
export interface Store {
  rows<Row>(statement: Sql): Promise<Row[]>;
  /** The answer in its final form, rendered by the engine. */
  bytes(statement: Sql, format: Format): Promise<Buffer>;
  /** The same of any size and without a limit of time, in pieces: neither this process nor the engine holds all of it. */
  stream(statement: Sql, format: Format): Promise<Readable>;
  run(statement: Sql | string): Promise<void>;
  /** Rows of one table, for small numbers of them. Durable when it returns. */
  insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void>;
  /** The same of rows that are JSON lines already. */
  insertLines(table: Table, columns: readonly string[], lines: string): Promise<void>;
  /** Keeps a batch of JSON lines until its fate is decided, so that a killed process can finish it. */
  stage(landingTable: Table, lines: readonly Pieces[]): Promise<StagedBatch>;
  /** Batches that an earlier process staged and neither committed nor discarded, oldest first. */
  unfinished(): Promise<StagedBatch[]>;
  close(): Promise<void>;
}

/** Bytes in one piece, or in several that follow each other: what is large need not be copied to be put together. */
export type Pieces = Buffer | readonly Buffer[];

export interface StagedBatch {
  readonly landingTable: string;
  /** Loads all lines; throws `store_refused` when the data are at fault. A repeat needs a newer sequence. */
  commit(firstSequence: bigint): Promise<void>;
  /** Forgets the batch: everything in it has been loaded or kept as dead letters. */
  discard(): Promise<void>;
  lines(): Promise<Buffer[]>;
}

export interface Message {
  readonly key: string;
  readonly value: Buffer;
}

/** A message and where the log keeps it: offsets of a partition grow by one, and a key keeps to its partition. */
export interface LogRecord extends Message {
  readonly partition: number;
  readonly offset: number;
}

export interface Ack {
  /** Resolves when the fate of the whole batch is durable; the log hands it on again after a kill before that. */
  readonly durable: Promise<void>;
}

/** A message that nobody could take, with what its finder needs. */
export interface DeadLetterMessage {
  readonly value: Buffer;
  readonly reason: string;
  /** Where it came from, in words. */
  readonly origin: string;
  /** How often it has been tried. */
  readonly attempt: number;
}

export interface Lag {
  readonly topic: string;
  readonly group: string;
  readonly messages: number;
}

/** Ordered topics. A message is acknowledged when `publish` returns and survives a kill from then on. */
export interface Log {
  publish(topic: string, messages: readonly Message[]): Promise<void>;
  /**
   * For topics whose publishers do not wait for their handlers: `publish` returns as soon as the messages are kept.
   * Batches are handed over in order, the next one when the handler returns, before the earlier ones are settled.
   * A handler that throws is given the same batch again, later and later. What was not settled is handed over again
   * by the next process, so a handler must know what it has seen already.
   */
  consume(
    topic: string,
    group: string,
    handler: (batch: readonly LogRecord[]) => Promise<Ack>,
  ): Promise<void>;
  /**
   * The handler returns when the fate of every message of the batch is durable. Batches of different keys may be
   * handled at the same time, those of a key are handled one after another. What can be made ready of a batch by
   * itself is done by `prepare`, while earlier batches are still handled.
   */
  subscribe<Ready = readonly Message[]>(
    topic: string,
    group: string,
    handler: (ready: Ready) => Promise<void>,
    prepare?: (batch: readonly Message[]) => Ready,
  ): Promise<void>;
  /** Resolves when a group has handled everything that was published to a topic before. */
  waitUntilConsumed(topic: string, group: string): Promise<void>;
  /** Whether a batch is handed over again when its handler failed; if not, the handler must keep it. */
  readonly redelivers: boolean;
  /** The largest message that it takes. */
  readonly messageBytesMax: number;
  /** Keeps refused messages whole and returns where each of them is; null where the log keeps none. */
  deadLetter(topic: string, letters: readonly DeadLetterMessage[]): Promise<(string | null)[]>;
  /** Buried messages by their places; null for those that are gone. */
  readDeadLetters(topic: string, places: readonly string[]): Promise<(Buffer | null)[]>;
  /** How many messages wait for the groups that this process serves. */
  lag(): Promise<Lag[]>;
  close(): Promise<void>;
}

export interface Job<Data> {
  /** Jobs of the same id collapse to one while it waits; one added during its run makes it run once more. */
  readonly id: string;
  readonly data: Data;
  /** Lower runs first; jobs of the same priority in order of arrival. */
  readonly priority: number;
}

export interface FailedJob {
  readonly id: string;
  readonly reason: string;
  readonly attempts: number;
}

export interface Queue {
  add<Data>(queue: string, job: Job<Data>): Promise<void>;
  process<Data>(queue: string, concurrency: number, handler: (data: Data) => Promise<void>): Promise<void>;
  /** Resolves when nothing waits and nothing runs. */
  idle(queue: string): Promise<void>;
  waiting(queue: string): Promise<number>;
  failed(queue: string): Promise<FailedJob[]>;
  close(): Promise<void>;
}

/** Atomic and short-lived facts; everything in it can be rebuilt from the store. */
export interface KeyValue {
  get(key: string): Promise<string | null>;
  /** Returns false when `onlyIfAbsent` is asked and the key is there. */
  set(key: string, value: string, options?: { ttlMs?: number; onlyIfAbsent?: boolean }): Promise<boolean>;
  /** Reads and removes in one step: of many takers one gets the value. */
  take(key: string): Promise<string | null>;
  delete(key: string): Promise<void>;
  /** Adds to a counter and returns it; the lifetime starts with the first addition. */
  increment(key: string, by: number, ttlMs: number): Promise<number>;
  /**
   * The first of `size` numbers in a row that nobody else gets: above all that were given before, and not below
   * `atLeast`. Null while the key has no value: whoever knows a floor sets it, and asks again.
   */
  reserve(key: string, size: number, atLeast: bigint): Promise<bigint | null>;
  /** Joins a group for a while, or joins it anew; false when `most` others are in it. 0 means any number. */
  join(group: string, member: string, ttlMs: number, most?: number): Promise<boolean>;
  /** Prolongs a membership; false when it has ended, by its time or because everything was forgotten. */
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
