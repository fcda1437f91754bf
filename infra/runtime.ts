import type { Readable } from 'node:stream';
import type { Sql } from './kernel/sql.ts';
import type { Table } from './kernel/table.ts';

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
  run(statement: Sql | string): Promise<void>;
  /** Rows of one table, for small numbers of them. Durable when it returns. */
  insert(table: Table, rows: readonly Record<string, unknown>[]): Promise<void>;
  /** Keeps a batch of JSON lines until its fate is decided, so that a killed process can finish it. */
  stage(inlet: Table, lines: readonly Buffer[]): Promise<StagedBatch>;
  /** Batches that an earlier process staged and neither committed nor discarded, oldest first. */
  unfinished(): Promise<StagedBatch[]>;
  close(): Promise<void>;
}

export interface StagedBatch {
  readonly inlet: string;
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

/** Ordered topics. A message is acknowledged when `publish` returns and survives a kill from then on. */
export interface Log {
  publish(topic: string, messages: readonly Message[]): Promise<void>;
  /** The handler returns when the fate of every message of the batch is durable. */
  subscribe(
    topic: string,
    group: string,
    handler: (batch: readonly Message[]) => Promise<void>,
  ): Promise<void>;
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
  close(): Promise<void>;
}

export async function readAll(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk));
  return chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks);
}
