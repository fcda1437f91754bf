import { sql } from '../../infra/clickhouse/sql.ts';
import type { Lease } from '../../infra/coordination/lock.ts';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import type { Logger } from '../../infra/logger.ts';
import type { Numbers, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { loadedUpTo } from '../../ingest/loads-in-progress.ts';
import type { MaterializedMetric } from '../metric.ts';
import { kebab } from '../metric-name.ts';
import { readCalendar } from '../planner/calendar.ts';
import type { DaysWithBlocks, PlannedWindow } from '../planner/plan.ts';
import { dayNumber, unitedDays, withDays } from '../planner/ranges.ts';
import type { ComputeMeasures } from './compute-measures.ts';
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
  type NextAttempt,
  nextAttemptOf,
  type ReadsByMetric,
  readsOf,
  stalledIn,
  type WindowFailure,
  withReaders,
  writeFailedMetrics,
} from './failures.ts';
import {
  byMarks,
  type ComputeLane,
  firstLiveDay,
  hasRowsOf,
  type Marks,
  NOT_COMPUTED,
  otherLane,
  provenForAll,
} from './lanes.ts';
import {
  computedChains,
  laggingChains,
  laneWatermarks,
  readLedger,
  readMarks,
  watermarks,
} from './ledger.ts';
import { type ComputedChain, readNewestBlocks } from './newest-blocks.ts';
import { planDays, planPending } from './pending.ts';
import { forgetEntities } from './refold.ts';
import type { ComputedRound } from './window-queue.ts';

export const LOCK_LOST = 'another process may have planned meanwhile';

interface RoundsOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly metrics: readonly MaterializedMetric[];
  /** Days that the live lane computes, the running one included. */
  readonly liveDays: number;
  readonly leaseMs: number;
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly measures: ComputeMeasures;
  /** Computes windows and shows the progress. */
  readonly compute: (windows: readonly PlannedWindow[], lane: ComputeLane) => Promise<ComputedRound>;
}

/** What a round found, before it computes. */
interface RoundState {
  readonly lane: ComputeLane;
  readonly liveFrom: string;
  /** Every load up to this number has ended. */
  readonly loaded: bigint;
  readonly marks: ReadonlyMap<string, Marks>;
  readonly failures: readonly FailedMetric[];
  /** The metrics that it computes. */
  readonly active: readonly MaterializedMetric[];
  /** Metrics that the other lane leaves out. */
  readonly stalledInOther: ReadonlySet<string>;
  readonly days: readonly NumberedDirtyDay[];
  readonly daysOfOther: DaysWithBlocks;
  /** Called when its windows are planned. */
  readonly endPlanning: () => void;
}

export interface RoundResult {
  /** When days of the other lane were found dirty, on the clock of `performance`; null when none were. */
  readonly otherDirtyAt: number | null;
  /** Every load up to this number is computed for all metrics that do not fail. */
  readonly computedUpTo: bigint;
  /** Of the metrics that fail. */
  readonly nextAttempt: NextAttempt | null;
}

/**
 * A round of a lane: reads the days that are dirty, plans their windows, computes them and moves the watermarks of the
 * metrics that did not fail. It computes what it finds loaded; a load that still runs only holds the watermarks back.
 */
export class Rounds {
  readonly #options: RoundsOptions;
  readonly #reads: ReadsByMetric;
  readonly #pallets: readonly string[];

  constructor(options: RoundsOptions) {
    this.#options = options;
    this.#reads = readsOf(options.metrics);
    this.#pallets = palletsOf(options.metrics);
  }

  /** `causes` are the spans that it follows from. */
  async run(lane: ComputeLane, lease: Lease, causes: readonly Traceparent[] = []): Promise<RoundResult> {
    const { store, tracer } = this.#options.runtime;
    const state = await this.#read(lane);
    const readAt = performance.now();
    const { days, daysOfOther, active, loaded } = state;
    const attributes = { 'chain_metrics.lane': lane, 'chain_metrics.dirty_days': days.length };
    const compute = () => this.#computeDays(state, lease);
    const { failures, newest } =
      days.length > 0 ? await tracer.span('compute round', { causes, attributes }, compute) : NOTHING;
    // In this order: whatever a kill leaves undone, no answer claims blocks that its rows lack.
    const recorded = await this.#recordFailures(state, failures);
    const without = withReaders(failures.keys(), this.#reads);
    const done = active.filter(({ name }) => !without.has(name));
    // Before the marks say that it is computed: who waits for them reads the failures then.
    const left = [...(await this.#endFailures(state, done, recorded)), ...recorded];
    let marks = state.marks;
    if (days.length > 0) {
      marks = await this.#moveMarks(state, done);
      await store.insert(
        computedChains,
        newest.map((chain) => ({ ...chain, sequence: loaded.toString() })),
      );
    }
    return {
      otherDirtyAt: daysOfOther.size > 0 ? readAt : null,
      computedUpTo: daysOfOther.size === 0 ? loaded : this.#lowestMark(marks, loaded, left),
      nextAttempt: nextAttemptOf(left, this.#reads),
    };
  }

  /** Whether a round would find something. */
  async hasDirtyDays(): Promise<boolean> {
    const { runtime, metrics } = this.#options;
    const now = runtime.clock.now();
    const { marks, failures } = await readLedger(runtime.store);
    const without = this.#readersOf(failures.filter((failure) => !isDue(failure, now)));
    const active = metrics.filter(({ name }) => !without.has(name));
    const lacking = byMarks(active, marks).map((group) => group.marks);
    return (await countDirtyDays(runtime.store, lacking, this.#pallets)) > 0;
  }

  /** All windows of these metrics that days from `from` up to `until` invalidate. */
  async planRebuild(names: ReadonlySet<string>, from: string, until: string): Promise<PlannedWindow[]> {
    const { runtime, metrics } = this.#options;
    const calendar = await readCalendar(runtime.store);
    const days = await readDaysToRebuild(runtime.store, from, until);
    return planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
  }

  async #read(lane: ComputeLane): Promise<RoundState> {
    const { runtime, numbers, metrics, liveDays, measures } = this.#options;
    const endPlanning = measures.planSeconds.startTimer({ lane });
    const { store, keyValue, clock } = runtime;
    const loaded = await loadedUpTo(keyValue, await numbers.take(1));
    const { marks, failures } = await readLedger(store);
    const now = clock.now();
    const liveFrom = firstLiveDay(now, liveDays);
    const stalledOf = (of: ComputeLane) =>
      stalledIn(of, failures, this.#reads, (failure) => isDue(failure, now));
    const stalled = { live: stalledOf('live'), backfill: stalledOf('backfill') };
    const marksOf = (of: ComputeLane) =>
      byMarks(
        metrics.filter(({ name }) => !stalled[of].has(name)),
        marks,
      ).map((group) => group.marks);
    const { days, daysOfOther } = await readDirty(store, lane, {
      liveFrom,
      marks: { live: marksOf('live'), backfill: marksOf('backfill') },
      pallets: this.#pallets,
    });
    measures.dirtyDays.set({ lane }, days.length);
    const active = metrics.filter(({ name }) => !stalled[lane].has(name));
    const stalledInOther = stalled[otherLane(lane)];
    const found = { days, daysOfOther, endPlanning };
    return { lane, liveFrom, loaded, marks, failures, active, stalledInOther, ...found };
  }

  async #computeDays(state: RoundState, lease: Lease): Promise<typeof NOTHING> {
    const { runtime, numbers, metrics, compute, measures } = this.#options;
    const { lane, marks, active, days, daysOfOther, endPlanning } = state;
    // Their tables are empty, whatever entities were computed before.
    const unknown = active.filter(({ name }) => !hasRows(marks.get(name)));
    await forgetEntities({ store: runtime.store, numbers }, unknown, RELAY_CHAINS);
    const ofActive = active.map(({ name }) => marks.get(name) ?? NOT_COMPUTED);
    const hours = await readDirtyHours(runtime.store, days, ofActive);
    const calendar = await readCalendar(runtime.store);
    const daysOfAll = withDays(withDays(calendar.days, daysOfOther), daysWithBlocks(days));
    const from = firstOf(withHours(days, hours, () => true));
    const newest = await readNewestBlocks(runtime.store, { ...state, known: daysOfAll, from });
    const dirty = { days, hours };
    const windows = planPending(metrics, active, dirty, marks, { ...calendar, days: daysOfAll });
    endPlanning();
    measures.plannedWindows.inc({ lane }, windows.length);
    const { computed, failures } = await compute(windows, lane);
    if (!(await lease.isHeld())) throw new Error(LOCK_LOST);
    // Where nothing can be computed the metrics are not at fault.
    const [first] = failures.values();
    if (first && failures.size > 1 && computed === 0) throw new Error(first.reason);
    return { failures, newest };
  }

  async #recordFailures(
    { lane, loaded, failures }: RoundState,
    failed: ReadonlyMap<string, WindowFailure & FailureTexts>,
  ): Promise<readonly FailedMetric[]> {
    if (failed.size === 0) return [];
    const { runtime, numbers, attempts, logger } = this.#options;
    const now = runtime.clock.now();
    const records = [...failed].map(([metric, { detail: _detail, ...failure }]) => {
      const known = failures.find((one) => one.metric === metric && one.lane === lane);
      return failedAgain(known, { metric, lane, ...failure }, now, attempts);
    });
    const before = this.#readersOf(failures);
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
    { lane, failures }: RoundState,
    done: readonly MaterializedMetric[],
    recorded: readonly FailedMetric[],
  ): Promise<readonly FailedMetric[]> {
    const { runtime, numbers, logger } = this.#options;
    const names = new Set(done.map(({ name }) => name));
    const ended = failures.filter((failure) => failure.lane === lane && names.has(failure.metric));
    await writeFailedMetrics({ store: runtime.store, numbers }, ended, true);
    for (const { metric } of ended) logger.info({ metric, lane }, 'the metric is computed again');
    return failures.filter(
      (failure) =>
        !ended.includes(failure) &&
        !recorded.some(({ metric, lane: ofLane }) => metric === failure.metric && ofLane === failure.lane),
    );
  }

  /** Returns the marks then; those of a round that computes all days are of no more use. */
  async #moveMarks(
    { lane, liveFrom, loaded, marks, daysOfOther, stalledInOther }: RoundState,
    done: readonly MaterializedMetric[],
  ): Promise<ReadonlyMap<string, Marks>> {
    const { store } = this.#options.runtime;
    const sequence = loaded.toString();
    const isAll = ({ name }: MaterializedMetric) => daysOfOther.size === 0 && !stalledInOther.has(name);
    const ofAll = done.filter(isAll).map(({ name }) => ({ metric: name, sequence }));
    const ofLane = done.filter((metric) => !isAll(metric));
    await store.insert(watermarks, ofAll);
    if (ofLane.length === 0) return marks;
    const inLane = ofLane.map(({ name }) => ({ metric: name, lane, live_from: liveFrom, sequence }));
    await store.insert(laneWatermarks, inLane);
    // The other lane may have moved its own meanwhile: whichever lane reads last finds both.
    const moved = await readMarks(store);
    const proven = ofLane.flatMap(({ name }) => {
      const upTo = provenForAll(moved.get(name) ?? NOT_COMPUTED);
      return upTo === undefined ? [] : [{ name, upTo }];
    });
    if (proven.length === 0) return moved;
    const ofProven = proven.map(({ name, upTo }) => ({ metric: name, sequence: upTo.toString() }));
    await store.insert(watermarks, ofProven);
    for (const { name, upTo } of proven) moved.set(name, { ...(moved.get(name) as Marks), all: upTo });
    return moved;
  }

  #readersOf(failures: readonly FailedMetric[]): Set<string> {
    const names = failures.map(({ metric }) => metric);
    return withReaders(names, this.#reads);
  }

  /** The lowest watermark of the metrics that no lane leaves out. */
  #lowestMark(marks: ReadonlyMap<string, Marks>, loaded: bigint, failures: readonly FailedMetric[]): bigint {
    const without = this.#readersOf(failures);
    const left = this.#options.metrics.filter(({ name }) => !without.has(name));
    return lowestOf(
      left.map(({ name }) => marks.get(name)?.all ?? 0n),
      loaded,
    );
  }
}

const NOTHING: {
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
  readonly newest: readonly ComputedChain[];
} = { failures: new Map(), newest: [] };

const hasRows = (marks: Marks | undefined) =>
  marks !== undefined && (hasRowsOf(marks, 'live') || hasRowsOf(marks, 'backfill'));

/** The days of dirty blocks by chain. */
const daysWithBlocks = (days: readonly NumberedDirtyDay[]): DaysWithBlocks =>
  new Map(
    [
      ...Map.groupBy(
        days.filter(({ stream }) => stream === 'blocks'),
        ({ relay_chain, chain }) => `${relay_chain}/${chain}`,
      ),
    ].map(([key, own]) => [key, unitedDays([own.map(({ day }) => dayNumber(day))])]),
  );
