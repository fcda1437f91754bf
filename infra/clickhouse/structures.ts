import { ProductError } from '../errors.ts';
import type { Store } from '../ports.ts';
import { DATABASE, literal, sql } from '../sql.ts';

/** Memoizes the column structure of tables, as the table functions `file` and `input` expect it. */
export class TableStructures {
  readonly #store: Pick<Store, 'rows'>;
  readonly #known = new Map<string, Promise<string>>();

  constructor(store: Pick<Store, 'rows'>) {
    this.#store = store;
  }

  of(table: string): Promise<string> {
    const known = this.#known.get(table) ?? this.#read(table);
    this.#known.set(table, known);
    known.catch(() => this.#known.delete(table));
    return known;
  }

  async #read(table: string): Promise<string> {
    const columns = await this.#store.rows<{ name: string; type: string }>(
      sql`SELECT name, type FROM system.columns WHERE database = ${DATABASE} AND table = ${table} ORDER BY position`,
    );
    if (columns.length === 0)
      throw new ProductError('store_failed', 'the store failed (UNKNOWN_TABLE)', table);
    return literal(columns.map(({ name, type }) => `${name} ${type}`).join(', '));
  }
}
