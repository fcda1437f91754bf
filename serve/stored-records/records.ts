import { deleteByIds } from '../../infra/clickhouse/delete-by-id.ts';
import { Batcher } from '../../infra/coordination/batcher.ts';
import type { Locks } from '../../infra/coordination/lock.ts';
import { DAY_MS } from '../../infra/days.ts';
import { ProductError } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Clock, KeyValue, Store } from '../../infra/ports.ts';
import { ident, raw, type Sql, sql } from '../../infra/sql.ts';
import type { Table } from '../../infra/table.ts';
import type { RecordColumns } from './stored-table.ts';

/** The result of a change: the new row, absent if nothing is to be written, and the value for the caller. */
export interface Change<Row extends RecordColumns, Result> {
  readonly next?: Omit<Row, 'version'>;
  readonly result: Result;
}

/** Stands in the cache while a row is written: readers then query the store. */
const CHANGING = 'changing';
const CACHED_MS = 60_000;
/**
 * A row that took longer than this to read is not cached, since it may be outdated. After a faster read, the entry of a
 * concurrent write is still in the cache, and `onlyIfAbsent` keeps it.
 */
const FILL_MS_MAX = 5_000;
/** Rows per statement. */
const BATCH_LIMITS = { limits: [{ max: 500, of: () => 1 }] };
/** Ids per query that only checks their existence. */
const LOOKUP_LIMITS = { limits: [{ max: 5000, of: () => 1 }] };

export interface RecordContext {
  readonly store: Store;
  readonly keyValue: KeyValue;
  readonly clock: Clock;
  readonly locks: Locks;
}

/**
 * The records of one table. Records are read by id and changed under a lock. The store is the source of truth: a
 * change is durable before it is visible. `keyValue` holds locks and a cache; losing its content costs only time.
 */
export class Records<Row extends RecordColumns> {
  readonly table: Table;
  readonly #context: RecordContext;
  readonly #writes: Batcher<Row, unknown>;
  readonly #reads: Batcher<string, Row | null>;
  readonly #lookups: Batcher<string, boolean>;
  readonly #listeners: ((row: Row) => void)[] = [];

  constructor(context: RecordContext, table: Table) {
    this.table = table;
    this.#context = context;
    this.#writes = new Batcher((rows) => insertEach(context.store, table, rows), BATCH_LIMITS);
    this.#reads = new Batcher(async (ids) => {
      const rows = await context.store.rows<Row>(sql`SELECT * FROM ${table} FINAL WHERE id IN ${[...ids]}`);
      const found = new Map(rows.map((row) => [row.id, row]));
      return ids.map((id) => found.get(id) ?? null);
    }, BATCH_LIMITS);
    this.#lookups = new Batcher(async (ids) => {
      const rows = await context.store.rows<{ id: string }>(
        sql`SELECT DISTINCT id FROM ${table} WHERE id IN ${[...ids]}`,
      );
      const found = new Set(rows.map((row) => row.id));
      return ids.map((id) => found.has(id));
    }, LOOKUP_LIMITS);
  }

  /** Registers a listener that this process calls with the new row after each change. */
  onChange(listener: (row: Row) => void): void {
    this.#listeners.push(listener);
  }

  async get(id: string): Promise<Row | null> {
    const { keyValue } = this.#context;
    // If the cache does not answer, the store is read: an unavailable cache must not refuse callers.
    const cached = await keyValue.get(this.#key(id)).catch(ignore('records.get', CHANGING));
    if (cached !== null && cached !== CHANGING) return JSON.parse(cached) as Row;
    const started = performance.now();
    const row = await this.#reads.add(id);
    if (row && cached === null && performance.now() - started < FILL_MS_MAX) {
      const kept = { ttlMs: CACHED_MS, onlyIfAbsent: true };
      await keyValue.set(this.#key(id), JSON.stringify(row), kept).catch(ignore('records.set', false));
    }
    return row;
  }

  /** Whether a row exists. Concurrent calls share one query. */
  async has(id: string): Promise<boolean> {
    if (id === '') return false;
    const cached = await this.#context.keyValue.get(this.#key(id)).catch(ignore('records.has', null));
    return cached !== null || this.#lookups.add(id);
  }

  /** Queries the store, not the cache. */
  find(where: Sql, orderBy: string, limit = 1000): Promise<Row[]> {
    return this.#context.store.rows<Row>(
      sql`SELECT * FROM ${this.table} FINAL WHERE ${where} ORDER BY ${raw(orderBy)} LIMIT ${limit}`,
    );
  }

  /** Like `find`, but without one (wide) column. */
  findWithout<Name extends keyof Row & string>(
    name: Name,
    where: Sql,
    orderBy: string,
    limit = 1000,
  ): Promise<Omit<Row, Name>[]> {
    return this.#context.store.rows<Omit<Row, Name>>(
      sql`SELECT * EXCEPT (${ident(name)}) FROM ${this.table} FINAL WHERE ${where} ORDER BY ${raw(orderBy)} LIMIT ${limit}`,
    );
  }

  /**
   * Changes one row under its lock. `change` gets the newest row, or null if there is none. If it throws, nothing
   * is written and the error is rethrown. The change is durable if the promise resolves.
   */
  async change<Result>(
    id: string,
    change: (current: Row | null) => Change<Row, Result> | Promise<Change<Row, Result>>,
  ): Promise<Result> {
    return this.#context.locks.run(this.#key(id), async (lease) => {
      const current = await this.get(id);
      const { next, result } = await change(current);
      if (next === undefined) return result;
      await lease.ensure();
      await this.#write({ ...next, version: (current?.version ?? 0) + 1 } as Row);
      return result;
    });
  }

  /** Writes a row with a new id. No lock is needed, since no other caller knows the id. */
  add(row: Omit<Row, 'version'>): Promise<void> {
    return this.#write({ ...row, version: 1 } as Row);
  }

  async #write(row: Row): Promise<void> {
    const { keyValue } = this.#context;
    const key = this.#key(row.id);
    // If the process dies between the two writes, the cache must not hold the old row.
    await keyValue.set(key, CHANGING, { ttlMs: CACHED_MS });
    const failure = await this.#writes.add(row);
    if (failure !== null) throw failure;
    await keyValue.set(key, JSON.stringify(row), { ttlMs: CACHED_MS });
    for (const listener of this.#listeners) listener(row);
  }

  /** Deletes rows that expired at least a day ago, so that no request still uses them. Returns their number. */
  async removeExpired(): Promise<number> {
    const { store, clock } = this.#context;
    const expired = sql`SELECT id FROM ${this.table} FINAL WHERE expires_ms > 0 AND expires_ms < ${clock.now() - DAY_MS}`;
    const rows = await store.rows<{ id: string }>(expired);
    await deleteByIds(store, this.table, rows);
    return rows.length;
  }

  #key(id: string): string {
    return `${this.table.name}/${id}`;
  }
}

/**
 * Inserts rows in one statement. If the store refuses their content, each row is inserted separately, so that one bad row
 * does not fail the others. Returns the error of each row, or null.
 */
async function insertEach<Row extends RecordColumns>(
  store: Pick<Store, 'insert'>,
  table: Table,
  rows: readonly Row[],
): Promise<unknown[]> {
  try {
    await store.insert(table, rows as never);
    return rows.map(() => null);
  } catch (error) {
    if (rows.length === 1 || !isAboutRows(error)) throw error;
  }
  const failures: unknown[] = [];
  for (const row of rows) {
    failures.push(
      await store.insert(table, [row] as never).then(
        () => null,
        (error: unknown) => error,
      ),
    );
  }
  return failures;
}

const isAboutRows = (error: unknown): boolean =>
  error instanceof ProductError && (error.code === 'store_refused' || error.code === 'store_exhausted');
