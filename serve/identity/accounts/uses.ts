import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { uses } from './tables.ts';

const EVERY_MS = 60_000;
const REMEMBERED_MAX = 100_000;

/** Notes when keys and tokens were used, to the minute. Written now and then, so a killed process forgets a little. */
export class Uses {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #noted = new Map<string, number>();
  #unwritten = new Map<string, number>();

  constructor(store: Store, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  touch(id: string): void {
    const now = this.#clock.now();
    if (now - (this.#noted.get(id) ?? 0) < EVERY_MS) return;
    if (this.#noted.size >= REMEMBERED_MAX) this.#noted.clear();
    this.#noted.set(id, now);
    this.#unwritten.set(id, now);
  }

  async flush(): Promise<void> {
    const unwritten = this.#unwritten;
    this.#unwritten = new Map();
    await this.#store.insert(
      uses,
      [...unwritten].map(([id, used_ms]) => ({ id, used_ms })),
    );
  }

  /** Milliseconds since the epoch by id; those that were never used are absent. */
  async lastOf(ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (ids.length === 0) return new Map();
    await this.flush();
    const rows = await this.#store.rows<{ id: string; used_ms: number }>(
      sql`SELECT id, used_ms FROM ${uses} FINAL WHERE id IN ${[...ids]}`,
    );
    return new Map(rows.map(({ id, used_ms }) => [id, used_ms]));
  }

  /** Forgets those whose grant is gone. */
  async removeLost(grants: { readonly name: string }): Promise<void> {
    const lost = await this.#store.rows<{ id: string }>(
      sql`SELECT DISTINCT id FROM ${uses} WHERE id NOT IN (SELECT id FROM ${grants}) LIMIT 100000`,
    );
    if (lost.length === 0) return;
    const ids = lost.map(({ id }) => id);
    await this.#store.run(sql`ALTER TABLE ${uses} DELETE WHERE id IN ${ids} SETTINGS mutations_sync = 1`);
  }
}
