import { Hourly } from '../../infra/coordination/hourly.ts';
import { Locks } from '../../infra/coordination/lock.ts';
import { timeOfSequence } from '../../infra/coordination/sequence.ts';
import { DAY_MS } from '../../infra/days.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Runtime } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { readRetention, recordRetention } from '../../ingest/raw/retention.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays, materializedMetrics } from '../metrics/index.ts';
import { palletsOf } from '../runner/dirty-days.ts';
import { readLedger } from '../runner/ledger.ts';
import { findLowestWatermark } from '../runner/watermarks.ts';
import { deleteRawRows } from './delete-raw.ts';

/** Time between two stages: longer than any load or computation that began before a stage. */
const STAGE_MS = 3_600_000;
/** Days are closed only this long after the last load of old days, because a failed backfill may start again. */
const QUIET_MS = DAY_MS;

export interface RawRetentionOptions {
  readonly runtime: Pick<Runtime, 'store' | 'keyValue' | 'clock'>;
  /** Days to keep all raw rows; 0 keeps them forever. */
  readonly days: number;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics?: readonly MaterializedMetric[];
  readonly stageMs?: number;
  readonly isLoading?: () => boolean;
}

/** Deletes raw rows of old months in stages, in one process at a time. Metrics computed from them stay. */
export class RawRetention {
  readonly #options: Required<RawRetentionOptions>;
  readonly #locks: Locks;
  readonly #hourly: Hourly;

  constructor(options: RawRetentionOptions) {
    this.#options = { metrics: materializedMetrics, stageMs: STAGE_MS, isLoading: () => false, ...options };
    this.#locks = new Locks(options.runtime.keyValue, { ttlMs: options.leaseMs });
    this.#hourly = new Hourly(
      () => this.next(),
      (error) =>
        options.logger.warn(
          { reason: reasonOf(error) },
          'old raw rows were not deleted; the next attempt is in an hour',
        ),
    );
  }

  start(): void {
    if (this.#options.days > 0) this.#hourly.start();
  }

  stop(): void {
    this.#hourly.stop();
  }

  /** Runs the next stage if it is due; returns the number of deleted rows. */
  async next(): Promise<number> {
    const deleted = await this.#locks.tryRun('raw-retention', (lease) => this.#next(() => lease.ensure()));
    return deleted ?? 0;
  }

  async #next(ensure: () => Promise<void>): Promise<number> {
    const { runtime, days, stageMs, metrics, logger } = this.#options;
    const { store, clock } = runtime;
    const { closed, frozen, deleted } = await readRetention(store);
    const at = clock.now();
    const isOver = (stage: { readonly at: number }) => at - stage.at >= stageMs;
    if (deleted.before < frozen.before) {
      if (!isOver(frozen)) return 0;
      const { before } = frozen;
      const rows = await deleteRawRows(store, metrics, { from: deleted.before, before }, ensure);
      await recordRetention(store, 'deleted', { before, at });
      logger.info({ rows, before }, 'old raw rows were deleted');
      return rows;
    }
    if (frozen.before < closed.before) {
      if (!isOver(closed) || !(await this.#isComputed(closed.before))) return 0;
      await ensure();
      await recordRetention(store, 'frozen', { before: closed.before, at });
      return 0;
    }
    const old = at - days * DAY_MS;
    // The newest block bounds the day: stages are final, and a clock that was ahead must not close future days.
    const before = monthOf(Math.min(old, await this.#newestBlockAt()));
    if (before <= closed.before || !(await this.#isFilled(closed.before, before, { old, at }))) return 0;
    await ensure();
    await recordRetention(store, 'closed', { before, at });
    logger.info(
      { before },
      'blocks before this day are refused from now on, and their raw rows will be deleted',
    );
    return 0;
  }

  async #newestBlockAt(): Promise<number> {
    const [row] = await this.#options.runtime.store.rows<{ at: number }>(
      sql`SELECT toUnixTimestamp64Milli(max(last_time)) AS at FROM ${blockDays} FINAL`,
    );
    return row?.at ?? 0;
  }

  /**
   * True if these days have blocks and no load of old days is running or recent. Otherwise the first days of a backfill
   * of years would close the days that it has yet to load.
   */
  async #isFilled(
    from: string,
    before: string,
    { old, at }: { readonly old: number; readonly at: number },
  ): Promise<boolean> {
    if (this.#options.isLoading()) return false;
    const [row] = await this.#options.runtime.store.rows<{ newest: string; days: number }>(
      sql`SELECT toString(max(dirty.sequence)) AS newest, uniqExactIf(dirty.day, dirty.day >= ${from} AND dirty.day < ${before}) AS days
        FROM ${dirtyDays} AS dirty WHERE stream = 'blocks' AND toYear(dirty.day) > 1970 AND dirty.day < ${monthOf(old)}`,
    );
    const isQuiet = at - timeOfSequence(BigInt(row?.newest ?? 0)) >= QUIET_MS;
    return (row?.days ?? 0) > 0 && isQuiet && this.#isComputed(before);
  }

  /** True if no metric lacks loaded data of earlier days. */
  async #isComputed(before: string): Promise<boolean> {
    const { runtime, metrics } = this.#options;
    const { marks, failures } = await readLedger(runtime.store);
    if (failures.length > 0) return false;
    const dirty = await runtime.store.rows(
      sql`SELECT 1 FROM ${dirtyDays} AS dirty
        WHERE dirty.day < ${before} AND dirty.sequence > ${findLowestWatermark(metrics, marks)} AND pallet IN ${palletsOf(metrics)} LIMIT 1`,
    );
    return dirty.length === 0;
  }
}

/** The first day of a month. */
const monthOf = (time: number): string => `${new Date(time).toISOString().slice(0, 7)}-01`;
