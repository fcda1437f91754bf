import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { DATABASE, sql } from '../clickhouse/sql.ts';
import type { Store } from '../ports.ts';
import { plural } from '../words.ts';
import type { DamageReport } from './damage.ts';

/** Numbers of the inserts that a part holds: a merge covers those of the parts that it was made of. */
interface Part {
  readonly name: string;
  /** Absent in records of earlier versions, whose tables had one partition each. */
  readonly partition?: string;
  readonly rows: number;
  readonly min: number;
  readonly max: number;
}

interface StoredTable {
  readonly table: string;
  readonly uuid: string;
  /** Whether rows expire, and parts with them. */
  readonly expires: boolean;
  readonly parts: readonly Part[];
}

interface DetachedPart {
  readonly table: string;
  readonly name: string;
  readonly reason: string;
  readonly path: string;
  readonly partition: string | null;
  readonly min: number | null;
  readonly max: number | null;
}

const RECORD_MS = 60_000;
/** Statements that take away parts. */
const REMOVES = /^\s*(?:ALTER|DELETE|DROP|TRUNCATE|RENAME|EXCHANGE)\b/i;
/** Reasons for which the engine detaches a part that it cannot read. */
const BROKEN = /^broken/;

const ADVICE =
  'restore the data directory from a backup; or load the blocks again (`chain-metrics ingest`, `backfill`) and, for the table of a metric, `chain-metrics rebuild`';

/**
 * Finds parts of the tables that are gone: the engine detaches one that is truncated and does not know of one that was
 * deleted, and then answers without their rows. The parts that are there are recorded from time to time, and compared
 * at the next start.
 */
export class StoredParts {
  readonly #store: Pick<Store, 'rows'>;
  readonly #file: string;
  readonly #damage: DamageReport;
  readonly #timer: NodeJS.Timeout;
  #recorded = '';
  #recording: Promise<unknown> = Promise.resolve();
  #removing = 0;
  /** Counts the statements that took away parts. */
  #removals = 0;

  constructor(store: Pick<Store, 'rows'>, dataDirectory: string, damage: DamageReport) {
    this.#store = store;
    this.#file = join(dataDirectory, 'parts.json');
    this.#damage = damage;
    this.#timer = setInterval(() => void this.#recordNext(), RECORD_MS).unref();
  }

  /** Reports what is gone; done before the schema is applied. */
  async check(): Promise<void> {
    const live = await this.#read();
    const detached = await this.#detached();
    for (const part of detached) this.#reportDetached(part, live);
    for (const before of this.#lastRecord()) this.#compare(before, live, detached);
  }

  /** Runs a statement. While one takes away parts, no record of them is true, also none that was read before. */
  async during<T>(statement: string, run: () => Promise<T>): Promise<T> {
    if (!REMOVES.test(statement)) return run();
    this.#removing++;
    this.#removals++;
    this.#recorded = '';
    rmSync(this.#file, { force: true });
    try {
      return await run();
    } finally {
      this.#removing--;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#recordNext();
  }

  #compare(before: StoredTable, live: readonly StoredTable[], detached: readonly DetachedPart[]): void {
    const now = live.find(({ table }) => table === before.table);
    const rows = before.parts.reduce((sum, part) => sum + part.rows, 0);
    if (now?.uuid !== before.uuid) {
      if (rows > 0) this.#report(before.table, `the table with ${plural(rows, 'row')}`);
      return;
    }
    if (before.expires) return;
    const isDetached = ({ name }: Part) =>
      detached.some((part) => part.table === before.table && part.name.endsWith(`_${name}`));
    const gone = before.parts.filter(
      (part) =>
        part.rows > 0 && !isCovered(part, now.parts) && !isMadeOf(part, now.parts) && !isDetached(part),
    );
    if (gone.length === 0) return;
    const lost = gone.reduce((sum, part) => sum + part.rows, 0);
    const names = gone.slice(0, NAMES_MAX).map(({ name }) => name);
    this.#report(before.table, `${plural(lost, 'row')} of the parts ${names.join(', ')}, which are missing`);
  }

  #report(table: string, lost: string): void {
    this.#damage.add({ part: 'store', file: `table ${table}`, lost, advice: ADVICE });
  }

  /**
   * A part that another one covers was left over from a merge, and one whose merge a loss of power has cut is there in the
   * parts that it was made of: nothing is lost with either.
   */
  #reportDetached(part: DetachedPart, live: readonly StoredTable[]): void {
    const { table, name, path } = part;
    const parts = live.find((one) => one.table === table)?.parts ?? [];
    if (rangeOf(part).some((range) => isCovered(range, parts) || isMadeOf(range, parts))) return;
    const aside = this.#damage.placeFor('store', `${table}-${basename(name)}`);
    this.#damage.add({
      part: 'store',
      file: path,
      lost: `${rowsOf(path)} of table ${table}: the part is damaged`,
      advice: `${ADVICE}; the part is kept as ${aside}`,
    });
    this.#damage.move(path, aside);
  }

  async #read(): Promise<StoredTable[]> {
    // The definition of a table tells of its TTL too, but each takes the engine longer to write than all parts.
    const [tables, parts] = await Promise.all([
      this.#store.rows<{ table: string; uuid: string }>(sql`
        SELECT name AS table, toString(uuid) AS uuid FROM system.tables
        WHERE database = ${DATABASE} AND engine LIKE '%MergeTree'`),
      this.#store.rows<Part & { table: string; expires: number }>(sql`
        SELECT table, name, partition_id AS partition, rows, min_block_number AS min, max_block_number AS max,
          delete_ttl_info_max > 0 AS expires
        FROM system.parts WHERE database = ${DATABASE} AND active`),
    ]);
    return tables.map(({ table, uuid }) => {
      const own = parts.filter((part) => part.table === table);
      return {
        table,
        uuid,
        expires: own.some(({ expires }) => expires),
        parts: own.map(({ table: _table, expires: _expires, ...part }) => part),
      };
    });
  }

  async #detached(): Promise<DetachedPart[]> {
    const parts = await this.#store.rows<DetachedPart>(sql`
      SELECT table, name, ifNull(reason, '') AS reason, path,
        partition_id AS partition, min_block_number AS min, max_block_number AS max
      FROM system.detached_parts WHERE database = ${DATABASE}`);
    return parts.filter(({ reason }) => BROKEN.test(reason));
  }

  /** Resolves when no record is being written. */
  #recordNext(): Promise<unknown> {
    this.#recording = Promise.allSettled([this.#recording, this.#record()]);
    return this.#recording;
  }

  async #record(): Promise<void> {
    const removals = this.#removals;
    const text = JSON.stringify(await this.#read());
    const isTrue = this.#removing === 0 && this.#removals === removals;
    if (!isTrue || text === this.#recorded) return;
    writeFileSync(`${this.#file}.part`, text);
    renameSync(`${this.#file}.part`, this.#file);
    this.#recorded = text;
  }

  #lastRecord(): readonly StoredTable[] {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as StoredTable[];
    } catch {
      return [];
    }
  }
}

const NAMES_MAX = 5;
/** The partition of a table that is not partitioned. */
const ALL = 'all';

type Range = Pick<Part, 'partition' | 'min' | 'max'>;

/** The range of a detached part, where its name tells it. */
const rangeOf = ({ partition, min, max }: DetachedPart): Range[] =>
  min === null || max === null ? [] : [{ partition: partition ?? ALL, min, max }];

const isWithin = (part: Range, other: Range) =>
  (other.partition ?? ALL) === (part.partition ?? ALL) && other.min <= part.min && part.max <= other.max;

const isCovered = (part: Range, parts: readonly Part[]) => parts.some((other) => isWithin(part, other));

/** Whether the first and the last part of a merge are there, which are deleted with all others that it was made of. */
function isMadeOf(merged: Range, parts: readonly Part[]): boolean {
  const sources = parts.filter((part) => isWithin(part, merged));
  return sources.some(({ min }) => min === merged.min) && sources.some(({ max }) => max === merged.max);
}

function rowsOf(path: string): string {
  try {
    const count = readFileSync(join(path, 'count.txt'), 'utf8');
    return count === '' ? 'rows' : plural(Number(count), 'row');
  } catch {
    return 'rows';
  }
}
