import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { sharedFigures } from '../model/oncall-tables.ts';

interface SharedFiguresDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
}

interface FigureRow {
  readonly name: string;
  readonly at: number;
  readonly took_ms: number;
  readonly figures: string;
}

/** Largest share of time that a process spends on reading figures. */
const READING_SHARE = 1 / 20;

/**
 * Figures that are the same for all processes: one process at a time reads and stores them, and the others read the
 * stored row. Their cost does not grow with the number of processes.
 */
export class SharedFigures<Figures extends object> {
  readonly #deps: SharedFiguresDependencies;
  readonly #name: string;
  readonly #everyMs: number;
  readonly #read: () => Promise<Figures>;

  constructor(
    dependencies: SharedFiguresDependencies,
    name: string,
    everyMs: number,
    read: () => Promise<Figures>,
  ) {
    this.#deps = dependencies;
    this.#name = name;
    this.#everyMs = everyMs;
    this.#read = read;
  }

  /** The figures, read again if they are old; null while another process reads them. */
  async newest(): Promise<Figures | null> {
    const fresh = await this.#fresh();
    if (fresh !== null) return fresh;
    return this.#deps.locks.tryRun(`figures/${this.#name}`, async () => {
      return (await this.#fresh()) ?? this.#readAgain();
    });
  }

  async #fresh(): Promise<Figures | null> {
    const { store, clock } = this.#deps;
    const [row] = await store.rows<FigureRow>(
      sql`SELECT name, at, took_ms, figures FROM ${sharedFigures} FINAL WHERE name = ${this.#name}`,
    );
    if (row === undefined) return null;
    const age = clock.now() - row.at;
    return age < Math.max(this.#everyMs, row.took_ms / READING_SHARE) ? JSON.parse(row.figures) : null;
  }

  async #readAgain(): Promise<Figures> {
    const { store, clock } = this.#deps;
    const began = performance.now();
    const figures = await this.#read();
    const took_ms = Math.round(performance.now() - began);
    const row = { name: this.#name, at: clock.now(), took_ms, figures: JSON.stringify(figures) };
    await store.insert(sharedFigures, [row]);
    return figures;
  }
}
