import { existsSync, renameSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { Batcher } from '../coordination/batcher.ts';
import { logPath } from '../data-directory.ts';
import { ProductError, reasonOf, unwritable } from '../errors.ts';
import type { LogRecord, Message } from '../ports.ts';
import { findDatabaseFault, setAside } from './damage.ts';

const PARTITION = 0;

export interface LogDatabaseOptions {
  readonly dataDirectory: string;
  /** Forces every transaction to the disk, so that it survives a power loss. */
  readonly fsync: boolean;
}

/** The stored messages of one topic. */
export interface TopicTable {
  /** The offset of the newest message; 0 without messages. */
  lastOffset(): number;
  /** The oldest messages after an offset, at most `count`. */
  read(after: number, count: number): LogRecord[];
  /** Resolves with the offset of the last message when all are durable: they survive a kill from then on. */
  append(messages: readonly Message[]): Promise<number>;
  deleteUntil(offset: number): Promise<void>;
}

/**
 * The stored topics in a SQLite database: a table for each topic, a row for each message. Concurrent changes share a
 * transaction, so they wait for the disk together.
 */
export class LogDatabase {
  readonly #database: DatabaseSync;
  readonly #changes = new Batcher<() => void>(async (changes) => this.#commit(changes));

  private constructor(file: string, fsync: boolean) {
    this.#database = new DatabaseSync(file);
    // Returns the pages of deleted messages to the file system.
    this.#database.exec(`PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${fsync ? 'FULL' : 'NORMAL'}`);
  }

  /** Opens the database of a data directory. A damaged one is set aside and replaced with an empty one. */
  static open({ dataDirectory, fsync }: LogDatabaseOptions): LogDatabase {
    const file = logPath(dataDirectory);
    const wal = `${file}-wal`;
    try {
      if (existsSync(file) && findDatabaseFault(file) !== null) {
        const aside = setAside(file);
        if (existsSync(wal)) renameSync(wal, `${aside}-wal`);
      }
      return new LogDatabase(file, fsync);
    } catch (error) {
      throw new ProductError('store_unwritable', `${file} cannot be opened: ${reasonOf(error)}`);
    }
  }

  table(topic: string): TopicTable {
    const database = this.#database;
    const table = `"${topic}"`;
    // AUTOINCREMENT never reuses offsets: a consumer recognizes a message by its offset.
    database.exec(`CREATE TABLE IF NOT EXISTS ${table}
      (offset INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, value BLOB NOT NULL)`);
    const last = database.prepare(`SELECT ifNull(max(offset), 0) AS offset FROM ${table}`);
    const select = database.prepare(`SELECT * FROM ${table} WHERE offset > ? ORDER BY offset LIMIT ?`);
    const insert = database.prepare(`INSERT INTO ${table} (key, value) VALUES (?, ?)`);
    const remove = database.prepare(`DELETE FROM ${table} WHERE offset <= ?`);
    return {
      lastOffset: () => (last.get() as { offset: number }).offset,
      read: (after, count) => (select.all(after, count) as unknown as StoredRow[]).map(recordOf),
      append: async (messages) => {
        let offset = 0;
        await this.#changes.add(() => {
          for (const { key, value } of messages) offset = Number(insert.run(key, value).lastInsertRowid);
        });
        return offset;
      },
      deleteUntil: (offset) => this.#changes.add(() => void remove.run(offset)),
    };
  }

  /** Copies the database without deleted messages; the file must not exist. */
  copyTo(file: string): void {
    this.#database.prepare('VACUUM INTO ?').run(file);
  }

  async close(): Promise<void> {
    await this.#changes.drain();
    if (this.#database.isOpen) this.#database.close();
  }

  #commit(changes: readonly (() => void)[]): [] {
    try {
      this.#database.exec('BEGIN');
      for (const change of changes) change();
      this.#database.exec('COMMIT');
      return [];
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec('ROLLBACK');
      throw unwritable(reasonOf(error));
    }
  }
}

interface StoredRow {
  readonly offset: number;
  readonly key: string;
  readonly value: Uint8Array<ArrayBuffer>;
}

const recordOf = ({ offset, key, value }: StoredRow): LogRecord => ({
  key,
  value: Buffer.from(value.buffer, value.byteOffset, value.byteLength),
  partition: PARTITION,
  offset,
});
