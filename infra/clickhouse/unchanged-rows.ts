import { LRUCache } from 'lru-cache';
import { recent } from '../coordination/recent.ts';
import { ignore } from '../ignore.ts';
import type { Store } from '../ports.ts';
import { DATABASE, type Sql, sql } from './sql.ts';
import { partsHash } from './stored-partitions.ts';
import type { Table } from './table.ts';

type Rows = Pick<Store, 'rows'>;

/** Statements whose rows are kept. */
const STATEMENTS_MAX = 50;
/** So old may they be where replicas of a table have the same parts at different times. */
const AGE_MS_MAX = 60_000;

interface Kept {
  readonly parts: string;
  readonly rows: Promise<unknown[]>;
}

/**
 * Answers statements with the rows that it has, while the parts of their tables are those of that time. `refresh` looks
 * at the parts: what is read after it is as of then, and costs a single statement where nothing was written since.
 */
export class UnchangedRows implements Rows {
  readonly #store: Rows;
  /** Tables that have parts: of others, as views, nothing is kept. */
  readonly #tables: ReadonlySet<string>;
  readonly #kept = new LRUCache<string, Kept>({ max: STATEMENTS_MAX, ttl: AGE_MS_MAX });
  #parts: ReadonlyMap<string, string> | null = null;

  constructor(store: Rows, tables: readonly Table[]) {
    this.#store = store;
    this.#tables = new Set(
      tables.filter(({ engine }) => engine.includes('MergeTree')).map(({ name }) => name),
    );
  }

  readonly refresh = recent(0, async () => {
    // Who may not look at the parts keeps nothing.
    const rows = await this.#store
      .rows<{ table: string; parts: string }>(
        sql`SELECT table, ${partsHash} AS parts FROM system.parts
        WHERE database = ${DATABASE} AND active GROUP BY table`,
      )
      // Nothing is remembered then: each statement is asked.
      .catch(ignore('store.parts', null));
    this.#parts = rows && new Map(rows.map(({ table, parts }) => [table, parts]));
  });

  rows<Row>(statement: Sql): Promise<Row[]> {
    const parts = this.#partsOf(statement);
    if (parts === null) return this.#store.rows<Row>(statement);
    const known = this.#kept.get(statement.text);
    if (known?.parts === parts) return known.rows as Promise<Row[]>;
    const rows = this.#store.rows<Row>(statement);
    this.#kept.set(statement.text, { parts, rows });
    rows.catch(() => {
      if (this.#kept.peek(statement.text)?.rows === rows) this.#kept.delete(statement.text);
    });
    return rows;
  }

  /** The parts of the tables that a statement reads; null where they do not tell whether its rows are the same. */
  #partsOf({ tables }: Sql): string | null {
    const names = [...tables];
    if (this.#parts === null || names.length === 0 || names.some((name) => !this.#tables.has(name)))
      return null;
    return names.map((name) => `${name} ${this.#parts?.get(name) ?? ''}`).join(' ');
  }
}
