import { sql } from '../../infra/clickhouse/sql.ts';
import { Locks } from '../../infra/coordination/lock.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Runtime } from '../../infra/ports.ts';
import { noteRetention, readRetention } from '../../ingest/raw/retention.ts';
import { dirtyDays } from '../../ingest/raw/tables.ts';
import type { MaterializedMetric } from '../metric.ts';
import { chainDay } from '../metrics/activity/chain-day.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { palletsOf } from '../runner/dirty-days.ts';
import { isMissingInAny, NOT_COMPUTED } from '../runner/lanes.ts';
import { readLedger } from '../runner/ledger.ts';
import { deleteRawRows } from './delete-raw.ts';

const DAY_MS = 86_400_000;
/** Time between two looks. */
const LOOK_MS = 3_600_000;
/** A command that ends soon deletes nothing. */
const FIRST_LOOK_MS = 60_000;
/** Longer than a load, or the computation of a window, that began before a stage. */
const STAGE_MS = 3_600_000;

export interface RawRetentionOptions {
  readonly runtime: Pick<Runtime, 'store' | 'keyValue' | 'clock'>;
  /** Days that all raw rows are kept; 0 for ever. */
  readonly days: number;
  readonly leaseMs: number;
  readonly logger: Pick<Logger, 'info' | 'warn'>;
  readonly metrics?: readonly MaterializedMetric[];
  readonly stageMs?: number;
}

/** Deletes raw rows of old months in stages, in one process at a time; what was computed of them stays. */
export class RawRetention {
  readonly #options: Required<RawRetentionOptions>;
  readonly #locks: Locks;
  readonly #timers: NodeJS.Timeout[] = [];

  constructor(options: RawRetentionOptions) {
    this.#options = { metrics: materializedMetrics, stageMs: STAGE_MS, ...options };
    this.#locks = new Locks(options.runtime.keyValue, { ttlMs: options.leaseMs });
  }

  start(): void {
    const { days, logger } = this.#options;
    if (days === 0) return;
    const look = () =>
      void this.next().catch((error) =>
        logger.warn({ reason: reasonOf(error) }, 'old raw rows were not deleted; the next try is in an hour'),
      );
    this.#timers.push(setTimeout(look, FIRST_LOOK_MS).unref(), setInterval(look, LOOK_MS).unref());
  }

  stop(): void {
    for (const timer of this.#timers) clearTimeout(timer);
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
    // A clock that was ahead for a moment must not close the days to come: no stage is taken back.
    const before = monthOf(Math.min(at - days * DAY_MS, await this.#newestBlockAt()));
    if (before <= closed.before) return 0;
    await ensure();
    await noteRetention(store, 'closed', { before, at });
    logger.info({ before }, 'blocks of earlier days are refused from now on; their raw rows will be deleted');
    return 0;
  }

  async #newestBlockAt(): Promise<number> {
    const [row] = await this.#options.runtime.store.rows<{ at: number }>(
      sql`SELECT toUnixTimestamp64Milli(max(last_time)) AS at FROM ${chainDay.table} FINAL`,
    );
    return row?.at ?? 0;
  }

  /** Whether every metric has computed everything that was loaded of the days before this one. */
  async #isComputed(before: string): Promise<boolean> {
    const { runtime, metrics } = this.#options;
    const { marks, failures } = await readLedger(runtime.store);
    if (failures.length > 0) return false;
    const all = metrics.map(({ name }) => marks.get(name) ?? NOT_COMPUTED);
    const dirty = await runtime.store.rows(
      sql`SELECT 1 FROM ${dirtyDays} AS dirty
        WHERE dirty.day < ${before} AND ${isMissingInAny(all)} AND pallet IN ${palletsOf(metrics)} LIMIT 1`,
    );
    return dirty.length === 0;
  }
}

/** The first day of the month of a time. */
const monthOf = (time: number): string => `${new Date(time).toISOString().slice(0, 7)}-01`;
