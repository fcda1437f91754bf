import { setTimeout as pause } from 'node:timers/promises';
import { type Lease, Locks } from '../../infra/coordination/lock.ts';
import { ProductError } from '../../infra/errors.ts';
import type { Logger } from '../../infra/logger.ts';
import type { FailedJob, Numbers, Runtime, Store } from '../../infra/ports.ts';
import { loadedUpTo } from '../../ingest/loader.ts';
import type { MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { type ChainAsOf, readChainsAsOf } from './as-of.ts';
import { Changes } from './changes.ts';
import {
  describeFailures,
  type FailedMetric,
  type MetricAttempts,
  readFailedMetrics,
  tryAtOnce,
} from './failures.ts';
import { InProcessExecutor } from './in-process-executor.ts';
import { COMPUTE_LANES, type ComputeLane, firstLiveDay } from './lanes.ts';
import { type PendingByMetric, readPending } from './pending.ts';
import { QueuedExecutor } from './queued-executor.ts';
import { LOCK_LOST, Rounds } from './rounds.ts';
import { MetricVersions } from './versions.ts';
import { type ComputedRound, STOPPED, type WindowExecutor } from './window-executor.ts';

/** Windows of the rounds and rebuilds that run; both are 0 when none runs. */
export interface ComputeProgress {
  readonly done: number;
  readonly total: number;
}
const IDLE: ComputeProgress = { done: 0, total: 0 };

/**
 * The queues and locks of the rounds of both lanes. A round of the live lane also finds what is due in the other one.
 * Earlier versions computed everything under the names of the live lane.
 */
const ROUND_QUEUES: Readonly<Record<ComputeLane, string>> = { live: 'compute', backfill: 'backfill' };
const ROUND_LOCKS: Readonly<Record<ComputeLane, string>> = { live: 'round', backfill: 'backfill' };
/** One id for all requests, so that a request joins the one that waits. Data directories may store a job of this id. */
const ROUND_JOB = 'touched';
/** Key of the number up to which every load is computed for all metrics that do not fail. */
const COMPUTED_UP_TO = 'computed_up_to';
const COMPUTED_POLL_MS = 10;
/** A queue may lose a request: the process that waits for the round repeats it after this time. */
const REQUEST_RETRY_MS = 2000;
/** How long a server may answer with the version of a metric that another process has replaced. */
const VERSIONS_MS = 50;
/** While rounds fail, the sweep requests one so often. */
const SWEEP_FAILED_MS = 60_000;

export interface AggregatorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Time between two checks for dirty days whose round was not requested, where the store is shared. */
  readonly sweepMs: number;
  /** Days that are computed before all others, the running one included. */
  readonly liveDays: number;
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly metrics?: readonly MaterializedMetric[];
}

/**
 * Keeps the metrics up to date in rounds. A round reads the days of its lane that became dirty since the watermarks,
 * plans the windows and computes them. Days that become dirty during a round are computed by the next one. One round of
 * each lane runs at a time over all processes, and the backfill lane gives way to the live one. A metric that fails
 * stops only the metrics that read it, until its next attempt.
 *
 * `runtime.isShared` makes the one difference between the profiles in this area. A single process learns of every load
 * and of every computed window by a function call. Where several processes share the store, windows are jobs of a
 * queue, each process polls for what the others have loaded and computed, and a lost request is repeated.
 */
export class Aggregator {
  readonly #options: AggregatorOptions;
  readonly #runtime: Runtime;
  readonly #metrics: readonly MaterializedMetric[];
  readonly #executor: WindowExecutor;
  readonly #rounds: Rounds;
  readonly #versions: MetricVersions;
  readonly #changes: Changes;
  /** Rounds of a lane never run side by side, nor does a rebuild beside the backfill lane. */
  readonly #locks: Locks;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #progress = new Map<ComputeLane, ComputeProgress>();
  #nextAttempt: NodeJS.Timeout | undefined;
  #pauses = 0;
  #isStopped = false;
  /** The lanes whose last attempt of a round failed. */
  readonly #failedLanes = new Set<ComputeLane>();
  #sweptAt = 0;

  constructor(options: AggregatorOptions) {
    const { runtime, metrics = materializedMetrics } = options;
    this.#options = options;
    this.#runtime = runtime;
    this.#metrics = metrics;
    this.#versions = new MetricVersions(
      runtime,
      metrics.map(({ name }) => name),
    );
    this.#changes = new Changes(runtime);
    this.#locks = new Locks(runtime.keyValue, { ttlMs: options.leaseMs });
    const executorOptions = {
      ...options,
      metrics,
      onComputed: (metric: string, version: bigint) => this.#versions.set(metric, version.toString()),
    };
    this.#executor = runtime.isShared
      ? new QueuedExecutor(executorOptions)
      : new InProcessExecutor(executorOptions);
    this.#rounds = new Rounds({
      ...options,
      metrics,
      executor: this.#executor,
      compute: (windows, lane) => this.#compute(windows, lane),
    });
  }

  /** Computes the days that are dirty now, and those that become dirty later. */
  async start(): Promise<void> {
    await this.followVersions();
    await this.#executor.start();
    for (const lane of COMPUTE_LANES) {
      await this.#runtime.queue.process(ROUND_QUEUES[lane], 1, () => this.#runRound(lane));
    }
    this.#pollShared(this.#options.sweepMs, () => this.#sweep());
    await this.requestRound();
  }

  /** Reads the versions of all metrics, and follows those of other processes unless `isContinuous` is false. */
  async followVersions(isContinuous = true): Promise<void> {
    const follow = () => this.#changes.follow(() => this.#versions.refresh());
    await follow();
    if (isContinuous) this.#pollShared(VERSIONS_MS, follow);
  }

  /** Requests a round after a load. */
  async requestRound(): Promise<void> {
    await this.#changes.publish();
    await this.#queueRound();
  }

  async #queueRound(lane: ComputeLane = 'live'): Promise<void> {
    await this.#runtime.queue.add(ROUND_QUEUES[lane], { id: ROUND_JOB, data: null, priority: 1 });
  }

  /** Holds the backfill lane while a bulk load runs: the load changes a day many times, and the day is computed once. */
  async pauseCompute<T>(load: () => Promise<T>): Promise<T> {
    this.#pauses++;
    try {
      return await load();
    } finally {
      this.#pauses--;
      await this.requestRound();
    }
  }

  /**
   * Resolves when all days that were dirty at the call are computed; throws when a round has failed for good, and
   * `metrics_failed` when everything is computed save some metrics.
   */
  async waitUntilComputed(): Promise<void> {
    const failures = await this.settled();
    if (failures.length > 0) throw new ProductError('metrics_failed', describeFailures(failures));
  }

  /** As `waitUntilComputed`, but returns the metrics that fail. */
  async settled(): Promise<readonly FailedMetric[]> {
    const { keyValue, store } = this.#runtime;
    const upTo = await this.#options.numbers.take(1);
    while ((await loadedUpTo(keyValue, upTo)) < upTo) {
      if (this.#isStopped) throw new Error(STOPPED);
      await pause(COMPUTED_POLL_MS);
    }
    const request = () => Promise.all(COMPUTE_LANES.map((lane) => this.#queueRound(lane)));
    await request();
    for (let requestedAt = performance.now(); ; await pause(COMPUTED_POLL_MS)) {
      if (BigInt((await keyValue.get(COMPUTED_UP_TO)) ?? 0) >= upTo) return readFailedMetrics(store);
      const [failure] = await this.#failedRounds();
      if (failure) throw new Error(`failed after ${failure.attempts} attempts: ${failure.reason}`);
      if (this.#isStopped) throw new Error(STOPPED);
      if (performance.now() - requestedAt > REQUEST_RETRY_MS) {
        requestedAt = performance.now();
        await request();
      }
    }
  }

  /**
   * Computes the windows of these metrics again, whatever the watermarks say, and returns their number. A metric that
   * had failed is then tried again at once.
   */
  async rebuild(metrics: readonly MaterializedMetric[], from: string, until: string): Promise<number> {
    const names = new Set(metrics.map((metric) => metric.name));
    const { store } = this.#runtime;
    const count = await this.#runExclusively('backfill', async () => {
      await this.#executor.forgetFolds(metrics);
      const windows = await this.#rounds.planRebuild(names, from, until);
      const { failures } = await this.#compute(windows, 'backfill');
      const [failure] = failures.values();
      if (failure) throw new ProductError('metrics_failed', failure.reason, failure.detail);
      return windows.length;
    });
    const failed = (await readFailedMetrics(store)).filter(({ metric }) => names.has(metric));
    if (failed.length > 0) {
      await tryAtOnce({ store, numbers: this.#options.numbers }, failed);
      const again = (await this.settled()).filter(({ metric }) => names.has(metric));
      if (again.length > 0) throw new ProductError('metrics_failed', describeFailures(again));
    }
    return count;
  }

  /** Stops after the windows that are being computed; the next start continues from the watermarks. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    clearTimeout(this.#nextAttempt);
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  async jobs(): Promise<{ waiting: number; failed: FailedJob[] }> {
    const { queue } = this.#runtime;
    const queues = [...Object.values(ROUND_QUEUES), ...this.#executor.queues];
    const waiting = await Promise.all(queues.map((name) => queue.waiting(name)));
    const failed = await Promise.all(queues.map((name) => queue.failed(name)));
    return { waiting: waiting.reduce((sum, count) => sum + count, 0), failed: failed.flat() };
  }

  /** Changes with every load and every round, and never before `version`. */
  get changes(): string {
    return this.#changes.token;
  }

  /** Reads what is loaded and not yet in the rows of the metrics. */
  async pending(store: Pick<Store, 'rows'> = this.#runtime.store): Promise<PendingByMetric> {
    const hasFailed = this.#failedLanes.size > 0 || (await this.#failedRounds()).length > 0;
    return readPending(store, { ...(await this.#lanesNow(store)), hasFailed });
  }

  /** Reads the newest block of each chain that the rows of the metrics hold. */
  async chainsAsOf(store: Pick<Store, 'rows'> = this.#runtime.store): Promise<readonly ChainAsOf[]> {
    return readChainsAsOf(store, await this.#lanesNow(store));
  }

  async #lanesNow(store: Pick<Store, 'rows'>) {
    return {
      metrics: this.#metrics,
      liveFrom: firstLiveDay(this.#runtime.clock.now(), this.#options.liveDays),
      failures: await readFailedMetrics(store),
    };
  }

  async #failedRounds(): Promise<FailedJob[]> {
    const { queue } = this.#runtime;
    // A queue that does not answer tells of no failure, and what is loaded is pending all the same.
    const failed = Object.values(ROUND_QUEUES).map((name) => queue.failed(name).catch(() => []));
    return (await Promise.all(failed)).flat();
  }

  /** Changes with every computation of a window of the metric. */
  version(metric: string): string {
    return this.#versions.of(metric);
  }

  get progress(): ComputeProgress {
    return [...this.#progress.values()].reduce(
      (sum, { done, total }) => ({ done: sum.done + done, total: sum.total + total }),
      IDLE,
    );
  }

  /** Repeats the work until `stop`, where other processes share the store. */
  #pollShared(ms: number, work: () => Promise<void>): void {
    if (!this.#runtime.isShared) return;
    let isBusy = false;
    const run = async () => {
      if (isBusy || this.#isStopped) return;
      isBusy = true;
      // When a service does not answer, the next interval tries again.
      await work().catch(() => undefined);
      isBusy = false;
    };
    this.#timers.push(setInterval(run, ms).unref());
  }

  /** Requests a round for dirty days whose request was lost: a queue may be emptied at any time. */
  async #sweep(): Promise<void> {
    const now = performance.now();
    if ((await this.#failedRounds()).length > 0 && now - this.#sweptAt < SWEEP_FAILED_MS) return;
    this.#sweptAt = now;
    if (await this.#rounds.hasDirtyDays()) await this.requestRound();
  }

  /** Runs a round of a lane or a rebuild, one at a time over all processes. */
  async #runExclusively<T>(lane: ComputeLane, work: (round: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(ROUND_LOCKS[lane], async (lease) => {
      const result = await work(lease);
      if (!(await lease.isHeld())) throw new Error(LOCK_LOST);
      return result;
    });
  }

  async #runRound(lane: ComputeLane): Promise<void> {
    try {
      const round = await this.#runExclusively(lane, (lease) => this.#rounds.run(lane, lease));
      const { computedUpTo, isOtherDirty, failures } = round;
      this.#failedLanes.delete(lane);
      await this.#runtime.keyValue.set(COMPUTED_UP_TO, computedUpTo.toString());
      this.#planAttempt(failures);
      if (isOtherDirty && lane === 'live' && !this.isPaused) await this.#queueRound('backfill');
    } catch (error) {
      this.#failedLanes.add(lane);
      throw error;
    } finally {
      await this.#changes.publish();
    }
  }

  /** Requests a round when the next metric that failed is due. */
  #planAttempt(failures: readonly FailedMetric[]): void {
    clearTimeout(this.#nextAttempt);
    const due = failures.flatMap(({ next_attempt_at: at }) => (at === null ? [] : [Date.parse(at)]));
    if (due.length === 0 || this.#isStopped) return;
    // A clock that was set back must not put it off.
    const waitMs = Math.min(Math.min(...due) - this.#runtime.clock.now(), this.#options.attempts.waitMsMax);
    const request = () => this.requestRound().catch(() => undefined);
    this.#nextAttempt = setTimeout(request, Math.max(0, waitMs)).unref();
  }

  async #compute(windows: readonly PlannedWindow[], lane: ComputeLane): Promise<ComputedRound> {
    let done = 0;
    const show = () => this.#progress.set(lane, { done, total: windows.length });
    show();
    const onDone = (count: number) => {
      done += count;
      show();
    };
    try {
      return await this.#executor.run(windows, { lane, onDone, isStopped: () => this.#isStopped });
    } finally {
      this.#progress.delete(lane);
    }
  }
}
