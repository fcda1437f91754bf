import type { Lease } from '../../infra/coordination/lock.ts';
import { reasonOf } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Numbers, Runtime, Traceparent } from '../../infra/ports.ts';
import { inSpan } from '../../infra/tracing/spans.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays } from '../metrics/index.ts';
import { readCalendar } from '../planner/calendar.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { resetEntities } from './compute-entities.ts';
import type { DataSignal } from './data-signal.ts';
import { addHours, earliestStart, readDirtyHours } from './dirty-hours.ts';
import { FailureRecords } from './failure-records.ts';
import {
  type FailureTexts,
  type MetricAttempts,
  nextAttemptAt,
  type ReadsByMetric,
  readsByMetric,
  type WindowFailure,
  withDependents,
} from './failures.ts';
import { computedChains, watermarks } from './ledger.ts';
import { type ComputedChain, readNewestBlocks } from './newest-blocks.ts';
import { planPending } from './pending.ts';
import type { RoundState, RoundStateReader } from './round-state.ts';
import type { RunnerMetrics } from './runner-metrics.ts';
import { findLowestWatermark, firstOfLastDays } from './watermarks.ts';
import type { ComputedRound, ComputeOptions } from './window-queue.ts';

const LOCK_LOST =
  'the lock of rounds was lost, so another process may have run a round; this round is retried';

interface RoundsOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly runnerMetrics: RunnerMetrics;
  readonly state: Pick<RoundStateReader, 'read' | 'hasDirtyDays'>;
  /** Computes windows and shows the progress. */
  readonly compute: (
    windows: readonly PlannedWindow[],
    options: Pick<ComputeOptions, 'queue' | 'meanwhile'>,
  ) => Promise<ComputedRound>;
  readonly dataSignal: Pick<DataSignal, 'token' | 'publish'>;
}

/** The failed metrics of a round, and the newest blocks in its rows. */
interface ComputedDays {
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
  readonly newest: readonly ComputedChain[];
}

interface RoundResult {
  /** The number up to which every load is computed, except for failing metrics. */
  readonly computedUpTo: bigint;
  /** The time of the next retry of a failed metric, in milliseconds since the epoch; null if there is none. */
  readonly nextAttemptAt: number | null;
}

/**
 * A round reads the dirty days, plans their windows, computes them, and moves the watermarks of metrics that did not
 * fail. It also computes rows of loads that still run, but the watermarks stay below these loads.
 *
 * Years of old days take minutes. Meanwhile the last days are planned and computed again and again, so that new blocks do
 * not wait. That moves no watermark, so the next round repeats these days.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #reads: ReadsByMetric;
  readonly #failures: FailureRecords;
  /** The last call of `computeLastDays` had all loads up to `upTo`, and found the days in `dirty`. */
  #lastDays: { readonly upTo: bigint; readonly token: string; readonly dirty: string } = {
    upTo: 0n,
    token: '',
    dirty: '',
  };

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#reads = readsByMetric(options.metrics);
    this.#failures = new FailureRecords(options, this.#reads);
  }

  /**
   * Runs a round. With `onlyLastDays`, if older days are dirty too, it computes only the last days, moves no watermark
   * and returns null.
   */
  async run(
    lease: Lease,
    { cause, onlyLastDays }: { readonly cause: Traceparent | undefined; readonly onlyLastDays: boolean },
  ): Promise<RoundResult | null> {
    const lastDaysFrom = firstOfLastDays(this.#options.runtime.clock.now());
    if (onlyLastDays && (await this.#options.state.hasDirtyDays(lastDaysFrom))) {
      await this.computeLastDays();
      return null;
    }
    const state = await this.#options.state.read();
    const { days, active, loaded } = state;
    const { failures, newest } = days.length > 0 ? await this.#traced(state, cause) : NOTHING;
    if (!(await lease.isHeld())) throw new Error(LOCK_LOST);
    // The order matters: after a kill at any point, no response claims blocks that its rows lack.
    const recorded = await this.#failures.record(state, failures);
    const excluded = withDependents(failures.keys(), this.#reads);
    const done = active.filter(({ name }) => !excluded.has(name));
    // Before the watermarks move, because callers that wait for a watermark then read the failures.
    const remaining = [...(await this.#failures.end(state.failures, done, recorded)), ...recorded];
    if (days.length > 0) {
      await this.#noteNewest(state, newest);
      const sequence = loaded.toString();
      await this.#options.runtime.store.insert(
        watermarks,
        done.map(({ name }) => ({ metric: name, sequence })),
      );
    }
    return { computedUpTo: loaded, nextAttemptAt: nextAttemptAt(remaining, this.#reads) };
  }

  /**
   * Computes blocks of the last days that were loaded since the last call. The caller holds the lock of rounds. Never
   * throws: the next round repeats these days.
   */
  async computeLastDays(): Promise<void> {
    const { dataSignal, logger } = this.#options;
    if (dataSignal.token === this.#lastDays.token) return;
    try {
      await this.#computeLastDays();
    } catch (error) {
      logger.error(
        { reason: reasonOf(error) },
        'the last days were not computed while a round runs; the next round computes them',
      );
    }
    this.#lastDays = { ...this.#lastDays, token: dataSignal.token };
  }

  async #computeLastDays(): Promise<void> {
    const state = await this.#options.state.read(this.#lastDays.upTo);
    // `loaded` stays below a running load, so days of later loads stay dirty. Computes them only if they changed.
    const dirty = state.days
      .map((day) => JSON.stringify(day))
      .sort()
      .join();
    if (state.days.length === 0 || dirty === this.#lastDays.dirty) return;
    const { failures, newest } = await this.#traced(state);
    await this.#failures.record(state, failures);
    await this.#noteNewest(state, newest);
    this.#lastDays = { ...this.#lastDays, upTo: state.loaded, dirty };
    await this.#options.dataSignal.publish();
  }

  #traced(state: RoundState, cause?: Traceparent): Promise<ComputedDays> {
    const attributes = { 'chain_metrics.dirty_days': state.days.length };
    return inSpan('compute round', { causes: [cause], attributes }, () => this.#compute(state));
  }

  async #compute(state: RoundState): Promise<ComputedDays> {
    const { runtime, numbers, metrics, compute, runnerMetrics } = this.#options;
    const { marks, active, days, lowestWatermark, endPlanning } = state;
    const { store } = runtime;
    // The tables of these metrics are empty, so progress from before does not apply.
    const empty = active.filter(({ name }) => !marks.get(name));
    await resetEntities({ store, numbers }, empty, RELAY_CHAINS);
    const hours = await readDirtyHours(store, days, findLowestWatermark(active, marks));
    const calendar = await readCalendar(store, blockDays, lowestWatermark);
    const daysWithHours = addHours(days, hours, () => true);
    const from = earliestStart(daysWithHours);
    const chains = { ...state, days: daysWithHours, daysWithBlocks: calendar.days, from };
    const newest = [
      ...(await readNewestBlocks(store, { ...chains, isOfLastDays: true })),
      ...(hasOlderDays(state) ? await readNewestBlocks(store, { ...chains, isOfLastDays: false }) : []),
    ];
    const windows = planPending(metrics, active, { days, hours }, marks, calendar);
    endPlanning();
    runnerMetrics.plannedWindows.inc(windows.length);
    const { computed, failures } = await compute(windows, this.#queueOf(state));
    // If every window failed, the cause is not a metric, unless one of these metrics failed before.
    const [first] = failures.values();
    const areNew = !state.failures.some(({ metric }) => failures.has(metric));
    if (first && failures.size > 1 && computed === 0 && areNew) throw new Error(first.reason);
    return { failures, newest };
  }

  /** While old days are computed, the last days are computed too. */
  #queueOf(state: RoundState): Pick<ComputeOptions, 'queue' | 'meanwhile'> {
    if (!hasOlderDays(state)) return { queue: 'lastDays' };
    return { queue: 'others', meanwhile: () => this.computeLastDays() };
  }

  /** Records the newest blocks that the rows of all metrics hold. */
  async #noteNewest({ loaded }: RoundState, newest: readonly ComputedChain[]): Promise<void> {
    await this.#options.runtime.store.insert(
      computedChains,
      newest.map((chain) => ({ ...chain, sequence: loaded.toString() })),
    );
  }
}

const NOTHING: ComputedDays = { failures: new Map(), newest: [] };

const hasOlderDays = ({ days, lastDaysFrom }: RoundState) => days.some(({ day }) => day < lastDaysFrom);
