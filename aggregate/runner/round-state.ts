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
import { type FailedMetric, isDue, type ReadsByMetric, readsOf, stalledBy } from './failures.ts';
import { readLedger } from './ledger.ts';
import { firstOfLastDays, lowestMark, type Marks } from './marks.ts';
import { planDays } from './pending.ts';
import type { RunnerMetrics } from './runner-metrics.ts';

/** What a round found, before it computes. */
export interface RoundState {
  /** The first of the last days. */
  readonly lastDaysFrom: string;
  /** Every load up to this number has ended. */
  readonly loaded: bigint;
  readonly marks: Marks;
  readonly lowestWatermark: bigint;
  readonly failures: readonly FailedMetric[];
  /** The metrics that it computes. */
  readonly active: readonly MaterializedMetric[];
  readonly days: readonly NumberedDirtyDay[];
  /** Called when its windows are planned. */
  readonly endPlanning: () => void;
}

interface RoundStateOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  readonly runnerMetrics: RunnerMetrics;
}

/** Reads which days are dirty, and for which metrics. */
export class RoundStateReader {
  readonly #options: RoundStateOptions;
  readonly #reads: ReadsByMetric;
  readonly #pallets: readonly string[];

  constructor(options: RoundStateOptions) {
    this.#options = options;
    this.#reads = readsOf(options.metrics);
    this.#pallets = palletsOf(options.metrics);
  }

  /** Reads all days that are dirty, or the last days that loads above `lastDaysAfter` have changed. */
  async read(lastDaysAfter?: bigint): Promise<RoundState> {
    const { runtime, numbers, runnerMetrics, metrics } = this.#options;
    const endPlanning = runnerMetrics.planSeconds.startTimer();
    const { store, keyValue, clock } = runtime;
    const loaded = await loadedUpTo(keyValue, await numbers.take(1));
    const ledger = await readLedger(store);
    const now = clock.now();
    const lastDaysFrom = firstOfLastDays(now);
    const isWhole = lastDaysAfter === undefined;
    // Failed metrics are tried again by whole rounds alone, which count the attempts.
    const active = this.#activeOf(ledger.failures, now, isWhole);
    const marks = isWhole ? ledger.marks : withFloor(metrics, ledger.marks, lastDaysAfter);
    const lowestWatermark = lowestMark(metrics, ledger.marks);
    const days = await readDirty(store, {
      after: lowestMark(active, marks),
      pallets: this.#pallets,
      ...(isWhole ? {} : { from: lastDaysFrom }),
    });
    if (isWhole) runnerMetrics.dirtyDays.set(days.length);
    const { failures } = ledger;
    return { lastDaysFrom, loaded, marks, lowestWatermark, failures, active, days, endPlanning };
  }

  /** The metrics that neither wait for their next attempt nor read one that does. */
  #activeOf(
    failures: readonly FailedMetric[],
    now: number,
    triesAgain = true,
  ): readonly MaterializedMetric[] {
    const stalled = stalledBy(failures, this.#reads, (failure) => triesAgain && isDue(failure, now));
    return this.#options.metrics.filter(({ name }) => !stalled.has(name));
  }

  /** Whether a round would find something, of the days before one if it is given. */
  async hasDirtyDays(before?: string): Promise<boolean> {
    const { store, clock } = this.#options.runtime;
    const { marks, failures } = await readLedger(store);
    const active = this.#activeOf(failures, clock.now());
    const dirty = { after: lowestMark(active, marks), pallets: this.#pallets };
    return (await countDirtyDays(store, before === undefined ? dirty : { ...dirty, before })) > 0;
  }

  /** All windows of these metrics that days from `from` up to `until` invalidate. */
  async planRebuild(names: ReadonlySet<string>, from: string, until: string): Promise<PlannedWindow[]> {
    const { runtime, metrics } = this.#options;
    const { marks } = await readLedger(runtime.store);
    const calendar = await readCalendar(runtime.store, blockDays, lowestMark(metrics, marks));
    const days = await readDaysToRebuild(runtime.store, from, until);
    return planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
  }
}

/** The marks, none of them below a number. */
const withFloor = (metrics: readonly MaterializedMetric[], marks: Marks, floor: bigint): Marks =>
  new Map(
    metrics.map(({ name }) => {
      const mark = marks.get(name) ?? 0n;
      return [name, mark > floor ? mark : floor];
    }),
  );
