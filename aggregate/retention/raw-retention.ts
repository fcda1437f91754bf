import { Hourly } from '../../infra/coordination/hourly.ts';
import { Locks } from '../../infra/coordination/lock.ts';
import { timeOfSequence } from '../../infra/coordination/sequence.ts';
import { DAY_MS } from '../../infra/days.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Runtime } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { noteRetention, readRetention } from '../../ingest/raw/retention.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays, materializedMetrics } from '../metrics/index.ts';
import { palletsOf } from '../runner/dirty-days.ts';
import { readLedger } from '../runner/ledger.ts';
import { lowestMark } from '../runner/marks.ts';
import { deleteRawRows } from './delete-raw.ts';

/** Longer than a load, or the computation of a window, that began before a stage. */
const STAGE_MS = 3_600_000;
/** A backfill that fails is begun again within this time, at the latest. */
const QUIET_MS = DAY_MS;

export interface RawRetentionOptions {
  readonly runtime: Pick<Runtime, 'store' | 'keyValue' | 'clock'>;
  /** Days that all raw rows are kept; 0 for ever. */
  readonly days: number;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics?: readonly MaterializedMetric[];
  readonly stageMs?: number;
  /** Whether a bulk load runs in this process. */
  readonly isLoading?: () => boolean;
}

/** Deletes raw rows of old months in stages, in one process at a time; what was computed of them stays. */
export class RawRetention {
  readonly #options: Required<RawRetentionOptions>;
  readonly #locks: Locks;
  readonly #hourly: Hourly;

  constructor(options: RawRetentionOptions) {
    this.#options = { metrics: materializedMetrics, stageMs: STAGE_MS, isLoading: () => false, ...options };
    this.#locks = new Locks(options.runtime.keyValue, { ttlMs: options.leaseMs });
    this.#hourly = new Hourly(
      () => this.next(),
      (error) => options.logger.warn({ reason: reasonOf(error) }, 'old raw rows were not deleted'),
    );
  }

  start(): void {
    if (this.#options.days > 0) this.#hourly.start();
  }

  stop(): void {
    this.#hourly.stop();
  }

  /** Takes the next stage where it is due; returns the rows that were deleted. */
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
      await noteRetention(store, 'deleted', { before, at });
      logger.info({ rows, before }, 'old raw rows were deleted');
      return rows;
    }
    if (frozen.before < closed.before) {
      if (!isOver(closed) || !(await this.#isComputed(closed.before))) return 0;
      await ensure();
      await noteRetention(store, 'frozen', { before: closed.before, at });
      return 0;
    }
    const old = at - days * DAY_MS;
    // A clock that was ahead for a moment must not close the days to come: no stage is taken back.
    const before = monthOf(Math.min(old, await this.#newestBlockAt()));
    if (before <= closed.before || !(await this.#isFilled(closed.before, before, { old, at }))) return 0;
    await ensure();
    await noteRetention(store, 'closed', { before, at });
    logger.info({ before }, 'blocks of earlier days are refused from now on; their raw rows will be deleted');
    return 0;
  }

  async #newestBlockAt(): Promise<number> {
    const [row] = await this.#options.runtime.store.rows<{ at: number }>(
      sql`SELECT toUnixTimestamp64Milli(max(last_time)) AS at FROM ${blockDays} FINAL`,
    );
    return row?.at ?? 0;
  }

  /**
   * Whether there are blocks of these days, and nothing is being added to days that are old enough: the first of a
   * backfill of years would otherwise close the days of the rest, also of chains that are behind it.
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

  /** Whether every metric has computed everything that was loaded of the days before this one. */
  async #isComputed(before: string): Promise<boolean> {
    const { runtime, metrics } = this.#options;
    const { marks, failures } = await readLedger(runtime.store);
    if (failures.length > 0) return false;
    const dirty = await runtime.store.rows(
      sql`SELECT 1 FROM ${dirtyDays} AS dirty
        WHERE dirty.day < ${before} AND dirty.sequence > ${lowestMark(metrics, marks)} AND pallet IN ${palletsOf(metrics)} LIMIT 1`,
    );
    return dirty.length === 0;
  }
}

/** The first day of the month of a time. */
const monthOf = (time: number): string => `${new Date(time).toISOString().slice(0, 7)}-01`;
