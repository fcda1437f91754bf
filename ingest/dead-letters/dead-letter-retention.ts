import { setTimeout as pause } from 'node:timers/promises';
import { deleteByIds } from '../../infra/clickhouse/delete-by-id.ts';
import { Hourly } from '../../infra/coordination/hourly.ts';
import { Locks } from '../../infra/coordination/lock.ts';
import { DAY_MS } from '../../infra/days.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Runtime } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { deadLetters } from '../raw/tables.ts';

/** Letters of one deletion. A pause follows, since each deletion rewrites parts. */
const LETTERS_MAX = 10_000;
const PAUSE_MS = 1000;

interface DeadLetterRetentionOptions {
  readonly runtime: Pick<Runtime, 'store' | 'keyValue' | 'clock'>;
  /** Days that a letter is kept after its last refusal; 0: forever. */
  readonly days: number;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
}

/** Deletes dead letters whose last refusal is older than the retention, in one process at a time. */
export class DeadLetterRetention {
  readonly #options: DeadLetterRetentionOptions;
  readonly #locks: Locks;
  readonly #hourly: Hourly;
  #isStopped = false;

  constructor(options: DeadLetterRetentionOptions) {
    this.#options = options;
    this.#locks = new Locks(options.runtime.keyValue, { ttlMs: options.leaseMs });
    this.#hourly = new Hourly(
      () => this.deleteOld(),
      (error) => options.logger.warn({ reason: reasonOf(error) }, 'could not delete old dead letters'),
    );
  }

  start(): void {
    if (this.#options.days > 0) this.#hourly.start();
  }

  stop(): void {
    this.#isStopped = true;
    this.#hourly.stop();
  }

  /** Returns the number of deleted letters, including those that an operator dropped or retried. */
  async deleteOld(): Promise<number> {
    const { runtime, days, logger } = this.#options;
    const today = Math.floor(runtime.clock.now() / DAY_MS) * DAY_MS;
    const before = new Date(today - days * DAY_MS).toISOString();
    const deleted = await this.#locks.tryRun('dead-letter-retention', async (lease) => {
      for (let total = 0; ; await pause(PAUSE_MS)) {
        await lease.ensure();
        const count = await this.#deleteSome(before);
        total += count;
        if (count < LETTERS_MAX || this.#isStopped) return total;
      }
    });
    if (deleted) logger.info({ letters: deleted, before }, 'deleted old dead letters');
    return deleted ?? 0;
  }

  /** Deletes all rows of a letter together: without the tombstone a dropped letter would reappear. */
  async #deleteSome(before: string): Promise<number> {
    const { store } = this.#options.runtime;
    const old = await store.rows<{ id: string }>(
      sql`SELECT id FROM ${deadLetters} AS letter GROUP BY id
        HAVING max(letter.received_at) < parseDateTime64BestEffort(${before}, 3, 'UTC')
          AND max(letter.version) < toUnixTimestamp64Milli(parseDateTime64BestEffort(${before}, 3, 'UTC'))
        LIMIT ${LETTERS_MAX}`,
    );
    await deleteByIds(store, deadLetters, old);
    return old.length;
  }
}
