import { deleteByIds } from '../../infra/clickhouse/delete-by-id.ts';
import type { Clock, Store } from '../../infra/ports.ts';
import { chunkForIn, sql } from '../../infra/sql.ts';
import { uses } from './tables.ts';

const RESOLUTION_MS = 60_000;
const CACHED_MAX = 100_000;

/**
 * Records if keys and tokens were used, to the minute. Writes are buffered, so a killed process loses the latest uses. A
 * failed write is repeated with the next write.
 */
export class Uses {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #recorded = new Map<string, number>();
  #unwritten = new Map<string, number>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  record(id: string): void {
    const now = this.#clock.now();
    if (now - (this.#recorded.get(id) ?? 0) < RESOLUTION_MS) return;
    if (this.#recorded.size >= CACHED_MAX) this.#recorded.clear();
    this.#recorded.set(id, now);
    this.#unwritten.set(id, now);
  }

  async flush(): Promise<void> {
    const unwritten = this.#unwritten;
    this.#unwritten = new Map();
    try {
      await this.#store.insert(
        uses,
        [...unwritten].map(([id, used_ms]) => ({ id, used_ms })),
      );
    } catch (error) {
      if (unwritten.size + this.#unwritten.size <= CACHED_MAX)
        this.#unwritten = new Map([...unwritten, ...this.#unwritten]);
      throw error;
    }
  }

  /** Milliseconds since the epoch by id; ids that were never used are absent. */
  async lastUses(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (ids.length === 0) return new Map();
    await this.flush();
    const found = new Map<string, number>();
    for (const some of chunkForIn(ids)) {
      const rows = await this.#store.rows<{ id: string; used_ms: number }>(
        sql`SELECT id, used_ms FROM ${uses} FINAL WHERE id IN ${some}`,
      );
      for (const { id, used_ms } of rows) found.set(id, used_ms);
    }
    return found;
  }

  /** Deletes the entries of deleted grants. */
  async removeOrphans(grants: { readonly name: string }): Promise<void> {
    const orphans = await this.#store.rows<{ id: string }>(
      sql`SELECT DISTINCT id FROM ${uses} WHERE id NOT IN (SELECT id FROM ${grants}) LIMIT 100000`,
    );
    await deleteByIds(this.#store, uses, orphans);
  }
}
