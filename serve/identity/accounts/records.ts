import { join, raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import type { Table } from '../../../infra/clickhouse/table.ts';
import type { Clock, KeyValue, Store } from '../../../infra/ports.ts';
import type { Locks } from './locks.ts';

/** What every kept row has. A row is replaced whole: its newest version is the truth. */
export interface RecordColumns {
  readonly id: string;
  readonly version: number;
  /** Milliseconds since the epoch after which the row means nothing and is removed; 0 = never. */
  readonly expires_ms: number;
}

/** Columns of `Kept`, for the table's definition. */
export const recordColumns = { id: 'String', version: 'UInt64', expires_ms: 'Int64' } as const;

/** The row of a table, by the types of its columns. */
export type RowOf<T extends { readonly columns: Readonly<Record<string, string>> }> = {
  readonly [Name in keyof T['columns'] as string extends Name ? never : Name]: ValueOf<T['columns'][Name]>;
};
type ValueOf<Type extends string> = Type extends `Array(${string}`
  ? readonly string[]
  : Type extends 'UInt64' | 'Int64'
    ? number
    : Type extends 'Bool'
      ? boolean
      : string;

/** What a change makes of a row: the next one, if any, and what to tell the caller. */
export interface Change<Row extends RecordColumns, Result> {
  readonly next?: Omit<Row, 'version'>;
  readonly result: Result;
}

/** Told instead of a row while it is being written: readers then ask the store. */
const CHANGING = 'changing';
const CACHED_MS = 60_000;
/** What was read longer ago than this is not offered to others: it may be old by now. */
const FILL_MS_MAX = 5_000;

export interface RecordContext {
  readonly store: Store;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
}

/**
 * Rows of one table by their id, changed one at a time. The truth is the store: a change is durable before it is
 * told. `keyValue` holds the lock and a copy; whoever empties it loses nothing but time.
 */
export class Records<Row extends RecordColumns> {
  readonly table: Table;
  readonly #ground: RecordContext;
  readonly #writes: Batched<Row, null>;
  readonly #reads: Batched<string, Row | null>;
  readonly #listeners: ((row: Row) => void)[] = [];

  constructor(ground: RecordContext, table: Table) {
    this.table = table;
    this.#ground = ground;
    this.#writes = new Batched(async (rows) => {
      await ground.store.insert(table, rows as never);
      return rows.map(() => null);
    });
    this.#reads = new Batched(async (ids) => {
      const rows = await ground.store.rows<Row>(sql`SELECT * FROM ${table} FINAL WHERE id IN ${[...ids]}`);
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    });
  }

  /** Called in this process after each change, with the new row. */
  onChange(listener: (row: Row) => void): void {
    this.#listeners.push(listener);
  }

  async get(id: string): Promise<Row | null> {
    const known = await this.#ground.keyValue.get(this.#key(id));
    if (known !== null && known !== CHANGING) return JSON.parse(known) as Row;
    const asked = performance.now();
    const row = await this.#reads.add(id);
    if (row && known === null && performance.now() - asked < FILL_MS_MAX) {
      await this.#ground.keyValue.set(this.#key(id), JSON.stringify(row), {
        ttlMs: CACHED_MS,
        onlyIfAbsent: true,
      });
    }
    return row;
  }

  /** Rows that meet a condition, in the order that is asked for; read from the store. */
  find(where: Sql, orderBy: string, limit = 1000): Promise<Row[]> {
    return this.#ground.store.rows<Row>(
      sql`SELECT * FROM ${this.table} FINAL WHERE ${where} ORDER BY ${raw(orderBy)} LIMIT ${limit}`,
    );
  }

  /**
   * Changes one row while nobody else does. `change` gets the newest row, or null, and decides; what it throws is
   * thrown and nothing is written. Durable when it returns.
   */
  async change<Result>(
    id: string,
    change: (current: Row | null) => Change<Row, Result> | Promise<Change<Row, Result>>,
  ): Promise<Result> {
    return this.#ground.locks.run(this.#key(id), async (lease) => {
      const current = await this.get(id);
      const { next, result } = await change(current);
      if (next === undefined) return result;
      await lease.ensure();
      await this.#write({ ...next, version: (current?.version ?? 0) + 1 } as Row);
      return result;
    });
  }

  /** Writes a row whose id is new and known to nobody yet, so that nothing has to be locked. */
  add(row: Omit<Row, 'version'>): Promise<void> {
    return this.#write({ ...row, version: 1 } as Row);
  }

  async #write(row: Row): Promise<void> {
    const { keyValue } = this.#ground;
    const key = this.#key(row.id);
    // A process that dies between the store and the copy must not leave the old row in the copy.
    await keyValue.set(key, CHANGING, { ttlMs: CACHED_MS });
    await this.#writes.add(row);
    await keyValue.set(key, JSON.stringify(row), { ttlMs: CACHED_MS });
    for (const listener of this.#listeners) listener(row);
  }

  /** Removes every version of rows that ended long enough ago for nothing to be in flight; returns how many. */
  async removeExpired(graceMs = 86_400_000): Promise<number> {
    const { store, clock } = this.#ground;
    const expired = sql`SELECT id FROM ${this.table} FINAL WHERE expires_ms > 0 AND expires_ms < ${clock.now() - graceMs}`;
    const rows = await store.rows<{ id: string }>(expired);
    if (rows.length > 0) {
      const ids = rows.map(({ id }) => id);
      await store.run(sql`ALTER TABLE ${this.table} DELETE WHERE id IN ${ids} SETTINGS mutations_sync = 1`);
    }
    return rows.length;
  }

  #key(id: string): string {
    return `${this.table.name}/${id}`;
  }
}

/** A condition that all of these hold; one that always does when there is none. */
export const all = (...conditions: readonly Sql[]): Sql =>
  conditions.length === 0 ? sql`1` : join(conditions, ' AND ');

const BATCH_MAX = 500;

/**
 * Collects what comes in while the last batch is on its way, so that many callers share one statement. One batch at
 * a time: what an insert costs the engine hardly depends on its rows.
 */
class Batched<Item, Result> {
  readonly #work: (items: readonly Item[]) => Promise<readonly Result[]>;
  #waiting: { item: Item; done: (result: Result) => void; failed: (error: unknown) => void }[] = [];
  #isRunning = false;

  constructor(work: (items: readonly Item[]) => Promise<readonly Result[]>) {
    this.#work = work;
  }

  add(item: Item): Promise<Result> {
    return new Promise((done, failed) => {
      this.#waiting.push({ item, done, failed });
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    // Whoever asks in the same turn of the event loop comes along.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, BATCH_MAX);
      try {
        const results = await this.#work(batch.map(({ item }) => item));
        for (const [i, { done }] of batch.entries()) done(results[i] as Result);
      } catch (error) {
        for (const { failed } of batch) failed(error);
      }
    }
    this.#isRunning = false;
  }
}
