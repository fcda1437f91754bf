import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Batcher } from '../coordination/batcher.ts';
import { ProductError, reasonOf, unwritable } from '../errors.ts';
import type { Damage, LogRecord, Message } from '../ports.ts';
import type { DamageReport } from './damage.ts';

export const LOG_FILE = 'log.sqlite';
/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const DAMAGED = new Set([11, 26]);
const PARTITION = 0;

export interface LogDatabaseOptions {
  readonly dataDirectory: string;
  /** Forces every transaction to the disk, so that it survives a power loss. */
  readonly fsync: boolean;
  readonly damage: DamageReport;
}

/** The messages of one topic, from the first that is not deleted on. */
export interface TopicTable {
  /** The offset of the newest message; 0 without messages. */
  lastOffset(): number;
  /** The oldest messages behind an offset. */
  read(after: number, count: number): LogRecord[];
  /** Resolves with the offset of the last message when all are durable: they survive a kill from then on. */
  append(messages: readonly Message[]): Promise<number>;
  deleteUntil(offset: number): Promise<void>;
}

/**
 * What the log stores, in a SQLite database: a table for each topic, a row for each message. Changes of concurrent callers
 * share a transaction, so they wait for the disk together.
 */
export class LogDatabase {
  readonly #database: DatabaseSync;
  readonly #changes = new Batcher<() => void>(async (changes) => this.#commit(changes));

  private constructor(file: string, fsync: boolean) {
    this.#database = new DatabaseSync(file);
    // Pages of deleted messages are given back to the disk.
    this.#database.exec(`PRAGMA auto_vacuum = FULL; PRAGMA journal_mode = WAL;
      PRAGMA synchronous = ${fsync ? 'FULL' : 'NORMAL'}`);
  }

  /** Opens the database of a data directory; one that is damaged is set aside, and an empty one takes its place. */
  static open({ dataDirectory, fsync, damage }: LogDatabaseOptions): LogDatabase {
    const file = join(dataDirectory, LOG_FILE);
    try {
      for (const { lost, advice } of checkLog(dataDirectory)) {
        const aside = damage.placeFor('log', file);
        damage.add({ part: 'log', file: aside, lost, advice });
        damage.move(file, aside);
        if (existsSync(`${file}-wal`)) damage.move(`${file}-wal`, `${aside}-wal`);
      }
      return new LogDatabase(file, fsync);
    } catch (error) {
      throw new ProductError('store_unwritable', `${file} cannot be opened: ${reasonOf(error)}`);
    }
  }

  table(topic: string): TopicTable {
    const database = this.#database;
    const table = `"${topic}"`;
    // Offsets of deleted messages are not given again: a consumer recognizes a message by its offset.
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

  /** Writes what is stored into a file that is not there, without what is deleted. */
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

/** Reads all of the stored log of a data directory, which may be in use, and changes nothing. */
export function checkLog(dataDirectory: string): Omit<Damage, 'found_at'>[] {
  const file = join(dataDirectory, LOG_FILE);
  const fault = existsSync(file) ? faultOf(file) : null;
  if (fault === null) return [];
  return [
    {
      part: 'log',
      file,
      lost: `deliveries of alerts that were acknowledged and not processed yet: ${fault}`,
      advice: `let the senders of that time send again, and check the disk; \`sqlite3 ${file} .recover\` shows what can be read`,
    },
  ];
}

function faultOf(file: string): string | null {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const [found] = database.prepare('PRAGMA quick_check(1)').all();
    const text = String(found?.quick_check);
    return text === 'ok' ? null : text;
  } catch (error) {
    if (!DAMAGED.has((error as { errcode?: number }).errcode ?? 0)) throw error;
    return reasonOf(error);
  } finally {
    database.close();
  }
}
