import { sql } from '../../infra/clickhouse/sql.ts';
import type { Lease } from '../../infra/coordination/lock.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { loadedUpTo } from '../../ingest/loads-in-progress.ts';
import type { MaterializedMetric } from '../metric.ts';
import { kebab } from '../metric-name.ts';
import { readCalendar } from '../planner/calendar.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import type { ComputeMeasures } from './compute-measures.ts';
import type { DataSignal } from './data-signal.ts';
import {
  countDirtyDays,
  type NumberedDirtyDay,
  palletsOf,
  readDaysToRebuild,
  readDirty,
} from './dirty-days.ts';
import { firstOf, readDirtyHours, withHours } from './dirty-hours.ts';
import {
  type FailedMetric,
  type FailureTexts,
  failedAgain,
  isDue,
  type MetricAttempts,
  nextAttemptAt,
  type ReadsByMetric,
  readsOf,
  stalledBy,
  type WindowFailure,
  withReaders,
  writeFailedMetrics,
} from './failures.ts';
import { computedChains, laggingChains, readLedger, watermarks } from './ledger.ts';
import { firstOfLastDays, lowestMark, type Marks } from './marks.ts';
import { type ComputedChain, readNewestBlocks } from './newest-blocks.ts';
import { planDays, planPending } from './pending.ts';
import { forgetEntities } from './refold.ts';
import type { ComputedRound, ComputeOptions } from './window-queue.ts';

export const LOCK_LOST = 'another process may have planned meanwhile';

interface RoundsOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly measures: ComputeMeasures;
  /** Computes windows and shows the progress. */
  readonly compute: (
    windows: readonly PlannedWindow[],
    options: Pick<ComputeOptions, 'queue' | 'meanwhile'>,
  ) => Promise<ComputedRound>;
  readonly dataSignal: Pick<DataSignal, 'token' | 'publish'>;
}

/** What a round found, before it computes. */
interface RoundState {
  /** The first of the last days. */
  readonly lastDaysFrom: string;
  /** Every load up to this number has ended. */
  readonly loaded: bigint;
  readonly marks: Marks;
  /** Loads up to this number are in the rows of all metrics. */
  readonly computedUpTo: bigint;
  readonly failures: readonly FailedMetric[];
  /** The metrics that it computes. */
  readonly active: readonly MaterializedMetric[];
  readonly days: readonly NumberedDirtyDay[];
  /** Called when its windows are planned. */
  readonly endPlanning: () => void;
}

interface RoundResult {
  /** Every load up to this number is computed for all metrics that do not fail. */
  readonly computedUpTo: bigint;
  /** When the next of the metrics that fail may be tried again; null if none will be. */
  readonly nextAttemptAt: number | null;
}

/**
 * A round reads the days that are dirty, plans their windows, computes them and moves the watermarks of the metrics that
 * did not fail. It computes what it finds loaded; a load that still runs only holds the watermarks back.
 *
 * Years of old days take minutes, and what happens now does not wait for them: while they are computed, the last days
 * are planned and computed again and again. No watermark says so, and the next round computes these days once more.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #reads: ReadsByMetric;
  readonly #pallets: readonly string[];
  /** Loads up to this number are in the rows of the last days. */
  #lastDaysUpTo = 0n;
  #lastDaysToken = '';

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#reads = readsOf(options.metrics);
    this.#pallets = palletsOf(options.metrics);
  }

  /**
   * Runs a round that follows from `causes`. With `mayWait` it computes only the last days if others are dirty too, and
   * returns null: others wait.
   */
  async run(
    lease: Lease,
    { causes, mayWait }: { readonly causes: readonly Traceparent[]; readonly mayWait: boolean },
  ): Promise<RoundResult | null> {
    const lastDaysFrom = firstOfLastDays(this.#options.runtime.clock.now());
    if (mayWait && (await this.hasDirtyDays(lastDaysFrom))) {
      await this.computeLastDays();
      return null;
    }
    const state = await this.#read();
    const { days, active, loaded } = state;
    const { failures, newest } = days.length > 0 ? await this.#traced(state, causes) : NOTHING;
    if (!(await lease.isHeld())) throw new Error(LOCK_LOST);
    // In this order: whatever a kill leaves undone, no answer claims blocks that its rows lack.
    const recorded = await this.#recordFailures(state, failures);
    const without = withReaders(failures.keys(), this.#reads);
    const done = active.filter(({ name }) => !without.has(name));
    // Before the marks say that it is computed: who waits for them reads the failures then.
    const left = [...(await this.#endFailures(state, done, recorded)), ...recorded];
    if (days.length > 0) {
      const { store } = this.#options.runtime;
      const sequence = loaded.toString();
      await store.insert(
        watermarks,
        done.map(({ name }) => ({ metric: name, sequence })),
      );
      await this.#noteNewest(state, newest);
    }
    return { computedUpTo: loaded, nextAttemptAt: nextAttemptAt(left, this.#reads) };
  }

  /** Computes what was loaded of the last days since they were computed. A round or a rebuild must have the lock. */
  async computeLastDays(): Promise<void> {
    const { dataSignal } = this.#options;
    const { token } = dataSignal;
    if (token === this.#lastDaysToken) return;
    const state = await this.#read(this.#lastDaysUpTo);
    this.#lastDaysToken = token;
    if (state.days.length === 0) return;
    const { failures, newest } = await this.#traced(state);
    this.#lastDaysUpTo = state.loaded;
    // What fails is recorded by the round that moves the watermarks.
    if (failures.size === 0) await this.#noteNewest(state, newest);
    await dataSignal.publish();
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
    const calendar = await readCalendar(runtime.store, lowestMark(metrics, marks));
    const days = await readDaysToRebuild(runtime.store, from, until);
    return planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
  }

  /** Reads all days that are dirty, or the last days that loads above `lastDaysAfter` have changed. */
  async #read(lastDaysAfter?: bigint): Promise<RoundState> {
    const { runtime, numbers, measures, metrics } = this.#options;
    const endPlanning = measures.planSeconds.startTimer();
    const { store, keyValue, clock } = runtime;
    const loaded = await loadedUpTo(keyValue, await numbers.take(1));
    const ledger = await readLedger(store);
    const now = clock.now();
    const lastDaysFrom = firstOfLastDays(now);
    const active = this.#activeOf(ledger.failures, now);
    const marks = lastDaysAfter === undefined ? ledger.marks : raised(metrics, ledger.marks, lastDaysAfter);
    const computedUpTo = lowestMark(metrics, ledger.marks);
    const days = await readDirty(store, {
      after: lowestMark(active, marks),
      pallets: this.#pallets,
      ...(lastDaysAfter === undefined ? {} : { from: lastDaysFrom }),
    });
    measures.dirtyDays.set(days.length);
    const { failures } = ledger;
    return { lastDaysFrom, loaded, marks, computedUpTo, failures, active, days, endPlanning };
  }

  /** The metrics that neither wait for their next attempt nor read one that does. */
  #activeOf(failures: readonly FailedMetric[], now: number): readonly MaterializedMetric[] {
    const stalled = stalledBy(failures, this.#reads, (failure) => isDue(failure, now));
    return this.#options.metrics.filter(({ name }) => !stalled.has(name));
  }

  #traced(state: RoundState, causes: readonly Traceparent[] = []): Promise<typeof NOTHING> {
    const attributes = { 'chain_metrics.dirty_days': state.days.length };
    const { tracer } = this.#options.runtime;
    return tracer.span('compute round', { causes, attributes }, () => this.#compute(state));
  }

  async #compute(state: RoundState): Promise<typeof NOTHING> {
    const { runtime, numbers, metrics, compute, measures } = this.#options;
    const { marks, active, days, computedUpTo, endPlanning } = state;
    const { store } = runtime;
    // Their tables are empty, whatever entities were computed before.
    const empty = active.filter(({ name }) => !marks.get(name));
    await forgetEntities({ store, numbers }, empty, RELAY_CHAINS);
    const hours = await readDirtyHours(store, days, lowestMark(active, marks));
    const calendar = await readCalendar(store, computedUpTo);
    const from = firstOf(withHours(days, hours, () => true));
    const chains = { ...state, known: calendar.days, from };
    const newest = [
      ...(await readNewestBlocks(store, { ...chains, isOfLastDays: true })),
      ...(hasOlderDays(state) ? await readNewestBlocks(store, { ...chains, isOfLastDays: false }) : []),
    ];
    const windows = planPending(metrics, active, { days, hours }, marks, calendar);
    endPlanning();
    measures.plannedWindows.inc(windows.length);
    const { computed, failures } = await compute(windows, this.#placeOf(state));
    // Where nothing can be computed the metrics are not at fault.
    const [first] = failures.values();
    if (first && failures.size > 1 && computed === 0) throw new Error(first.reason);
    return { failures, newest };
  }

  /** Old days take long: meanwhile the last days go on. */
  #placeOf(state: RoundState): Pick<ComputeOptions, 'queue' | 'meanwhile'> {
    if (!hasOlderDays(state)) return { queue: 'lastDays' };
    return { queue: 'others', meanwhile: () => this.computeLastDays() };
  }

  /** Notes up to which block the rows of all metrics hold the data of their chains. */
  async #noteNewest({ loaded }: RoundState, newest: readonly ComputedChain[]): Promise<void> {
    await this.#options.runtime.store.insert(
      computedChains,
      newest.map((chain) => ({ ...chain, sequence: loaded.toString() })),
    );
  }

  async #recordFailures(
    { loaded, failures }: RoundState,
    failed: ReadonlyMap<string, WindowFailure & FailureTexts>,
  ): Promise<readonly FailedMetric[]> {
    if (failed.size === 0) return [];
    const { runtime, numbers, attempts, logger } = this.#options;
    const now = runtime.clock.now();
    const records = [...failed].map(([metric, { detail: _detail, ...failure }]) => {
      const known = failures.find((one) => one.metric === metric);
      return failedAgain(known, { metric, ...failure }, now, attempts);
    });
    const before = stalledBy(failures, this.#reads);
    const lagging = [...withReaders(failed.keys(), this.#reads)].filter((name) => !before.has(name));
    if (lagging.length > 0)
      await runtime.store.run(sql`INSERT INTO ${laggingChains} (metric, relay_chain, chain, as_of, sequence)
        SELECT arrayJoin(${lagging}), relay_chain, chain, as_of, ${loaded} FROM ${computedChains} FINAL`);
    await writeFailedMetrics({ store: runtime.store, numbers }, records);
    for (const record of records) {
      const advice =
        record.next_attempt_at === null
          ? `it is not tried again: mend the cause, then \`chain-metrics rebuild ${kebab(record.metric)}\``
          : 'it and the metrics that read it wait for the next attempt';
      logger.error({ ...record, detail: failed.get(record.metric)?.detail }, `a metric failed: ${advice}`);
    }
    return records;
  }

  /** Removes the failures of metrics that are computed again; returns those that stay as they were. */
  async #endFailures(
    { failures }: RoundState,
    done: readonly MaterializedMetric[],
    recorded: readonly FailedMetric[],
  ): Promise<readonly FailedMetric[]> {
    const { runtime, numbers, logger } = this.#options;
    const names = new Set(done.map(({ name }) => name));
    const ended = failures.filter((failure) => names.has(failure.metric));
    await writeFailedMetrics({ store: runtime.store, numbers }, ended, true);
    for (const { metric } of ended) logger.info({ metric }, 'the metric is computed again');
    return failures.filter(
      (failure) => !ended.includes(failure) && !recorded.some(({ metric }) => metric === failure.metric),
    );
  }
}

const NOTHING: {
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
  readonly newest: readonly ComputedChain[];
} = { failures: new Map(), newest: [] };

const hasOlderDays = ({ days, lastDaysFrom }: RoundState) => days.some(({ day }) => day < lastDaysFrom);

/** The marks, none of them below a number. */
const raised = (metrics: readonly MaterializedMetric[], marks: Marks, least: bigint): Marks =>
  new Map(
    metrics.map(({ name }) => {
      const mark = marks.get(name) ?? 0n;
      return [name, mark > least ? mark : least];
    }),
  );
