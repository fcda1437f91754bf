import type { Numbers, Runtime } from '../../infra/ports.ts';
import { loadedUpTo } from '../../ingest/load/loads-in-progress.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays } from '../metrics/index.ts';
import { readCalendar } from '../planner/calendar.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import {
  countDirtyDays,
  type NumberedDirtyDay,
  palletsOf,
  readDaysToRebuild,
  readDirty,
} from './dirty-days.ts';
import { type FailedMetric, isDue, type ReadsByMetric, readsByMetric, stalledMetrics } from './failures.ts';
import { readLedger } from './ledger.ts';
import { planDays } from './pending.ts';
import type { RunnerMetrics } from './runner-metrics.ts';
import { findLowestWatermark, firstOfLastDays, type Watermarks } from './watermarks.ts';

/** The input of a round. */
export interface RoundState {
  /** The first of the last days. */
  readonly lastDaysFrom: string;
  /** All loads up to this number have ended. */
  readonly loaded: bigint;
  readonly marks: Watermarks;
  readonly lowestWatermark: bigint;
  readonly failures: readonly FailedMetric[];
  /** The metrics that the round computes. */
  readonly active: readonly MaterializedMetric[];
  readonly days: readonly NumberedDirtyDay[];
  /** Call when the windows are planned. */
  readonly endPlanning: () => void;
}

interface RoundStateOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  readonly runnerMetrics: RunnerMetrics;
}

/** Reads the dirty days and the metrics to compute. */
export class RoundStateReader {
  readonly #options: RoundStateOptions;
  readonly #reads: ReadsByMetric;
  readonly #pallets: readonly string[];

  constructor(options: RoundStateOptions) {
    this.#options = options;
    this.#reads = readsByMetric(options.metrics);
    this.#pallets = palletsOf(options.metrics);
  }

  /** Reads all dirty days, or only the last days that loads above `lastDaysAfter` changed. */
  async read(lastDaysAfter?: bigint): Promise<RoundState> {
    const { runtime, numbers, runnerMetrics, metrics } = this.#options;
    const endPlanning = runnerMetrics.planSeconds.startTimer();
    const { store, keyValue, clock } = runtime;
    const loaded = await loadedUpTo(keyValue, await numbers.take(1));
    const ledger = await readLedger(store);
    const now = clock.now();
    const lastDaysFrom = firstOfLastDays(now);
    const isWhole = lastDaysAfter === undefined;
    // Only whole rounds retry failed metrics, because they count the attempts.
    const active = this.#activeOf(ledger.failures, now, isWhole);
    const marks = isWhole ? ledger.marks : withFloor(metrics, ledger.marks, lastDaysAfter);
    const lowestWatermark = findLowestWatermark(metrics, ledger.marks);
    const days = await readDirty(store, {
      after: findLowestWatermark(active, marks),
      pallets: this.#pallets,
      ...(isWhole ? {} : { from: lastDaysFrom }),
    });
    if (isWhole) runnerMetrics.dirtyDays.set(days.length);
    const { failures } = ledger;
    return { lastDaysFrom, loaded, marks, lowestWatermark, failures, active, days, endPlanning };
  }

  /** The metrics that neither wait for a retry nor read one that does. */
  #activeOf(
    failures: readonly FailedMetric[],
    now: number,
    triesAgain = true,
  ): readonly MaterializedMetric[] {
    const stalled = stalledMetrics(failures, this.#reads, (failure) => triesAgain && isDue(failure, now));
    return this.#options.metrics.filter(({ name }) => !stalled.has(name));
  }

  /** True if a round would find dirty days, or dirty days before `before`. */
  async hasDirtyDays(before?: string): Promise<boolean> {
    const { store, clock } = this.#options.runtime;
    const { marks, failures } = await readLedger(store);
    const active = this.#activeOf(failures, clock.now());
    const dirty = { after: findLowestWatermark(active, marks), pallets: this.#pallets };
    return (await countDirtyDays(store, before === undefined ? dirty : { ...dirty, before })) > 0;
  }

  /** All windows of these metrics that the days from `from` to before `until` invalidate. */
  async planRebuild(names: ReadonlySet<string>, from: string, until: string): Promise<PlannedWindow[]> {
    const { runtime, metrics } = this.#options;
    const { marks } = await readLedger(runtime.store);
    const calendar = await readCalendar(runtime.store, blockDays, findLowestWatermark(metrics, marks));
    const days = await readDaysToRebuild(runtime.store, from, until);
    return planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
  }
}

/** Raises every watermark to at least `floor`. */
const withFloor = (metrics: readonly MaterializedMetric[], marks: Watermarks, floor: bigint): Watermarks =>
  new Map(
    metrics.map(({ name }) => {
      const mark = marks.get(name) ?? 0n;
      return [name, mark > floor ? mark : floor];
    }),
  );
