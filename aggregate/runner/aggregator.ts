import { setTimeout as pause } from 'node:timers/promises';
import { type Lease, Locks, type Mutex } from '../../infra/coordination/lock.ts';
import type { FailedJob, Numbers, Runtime, Store } from '../../infra/ports.ts';
import { LOADING } from '../../ingest/loader.ts';
import type { MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { readCalendar } from '../planner/calendar.ts';
import { EVERYTHING, type PlannedWindow } from '../planner/plan.ts';
import { Changes } from './changes.ts';
import {
  hasDirtyDays,
  type NumberedDirtyDay,
  palletsOf,
  readDaysToRebuild,
  readDirtyDays,
} from './dirty-days.ts';
import { InProcessExecutor } from './in-process-executor.ts';
import { computedChains, readNewestBlocks, readWatermarks, watermarks } from './ledger.ts';
import { lowestOf, type PendingByMetric, planDays, planPending, readPending } from './pending.ts';
import { QueuedExecutor } from './queued-executor.ts';
import { MetricVersions } from './versions.ts';
import { STOPPED, type WindowExecutor } from './window-executor.ts';

/** Windows of the round or rebuild that runs; both are 0 when none runs. */
export interface ComputeProgress {
  readonly done: number;
  readonly total: number;
}
const IDLE: ComputeProgress = { done: 0, total: 0 };

const ROUND_QUEUE = 'compute';
/** One id for all requests, so that a request joins the one that waits. Data directories may store a job of this id. */
const ROUND_JOB = 'touched';
const ROUND_LOCK = 'round';
const ROUND_LOCK_LOST = 'another process may have planned meanwhile';
/** Key of the number up to which the last round has computed every load. */
const COMPUTED_UP_TO = 'computed_up_to';
const LOADING_POLL_MS = 20;
const COMPUTED_POLL_MS = 10;
/** A queue may lose a request: the process that waits for the round repeats it after this time. */
const REQUEST_RETRY_MS = 2000;
/** How long a server may answer with the version of a metric that another process has replaced. */
const VERSIONS_MS = 50;
/** While rounds fail, the sweep requests one only so often. */
const SWEEP_FAILED_MS = 60_000;

export interface AggregatorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  /** Locked while the loader of this process writes a batch: a round between two batches computes fewer days twice. */
  readonly gate: Mutex;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Time between two checks for dirty days whose round was not requested, where the store is shared. */
  readonly sweepMs: number;
  readonly metrics?: readonly MaterializedMetric[];
}

/**
 * Keeps the metrics up to date in rounds. A round reads the days that became dirty since the watermarks, plans the
 * windows and computes them level by level. Days that become dirty during a round are computed by the next one. One
 * round runs at a time over all processes.
 *
 * `runtime.isShared` makes the one difference between the profiles in this area. A single process learns of every load
 * and of every computed window by a function call. Where several processes share the store, windows are jobs of a
 * queue, each process polls for what the others have loaded and computed, and a lost request is repeated.
 */
export class Aggregator {
  readonly #runtime: Runtime;
  readonly #numbers: Numbers;
  readonly #metrics: readonly MaterializedMetric[];
  readonly #sweepMs: number;
  readonly #executor: WindowExecutor;
  readonly #pallets: readonly string[];
  readonly #versions: MetricVersions;
  readonly #changes: Changes;
  /** Rounds and rebuilds never run side by side: an older window must not land after a newer one. */
  readonly #locks: Locks;
  readonly #timers: NodeJS.Timeout[] = [];
  #progress: ComputeProgress = IDLE;
  #pauses = 0;
  #isStopped = false;
  /** Whether the last attempt of a round failed. */
  #hasFailed = false;
  #sweptAt = 0;

  constructor(options: AggregatorOptions) {
    const { runtime, metrics = materializedMetrics } = options;
    this.#runtime = runtime;
    this.#numbers = options.numbers;
    this.#metrics = metrics;
    this.#sweepMs = options.sweepMs;
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
    this.#pallets = palletsOf(metrics);
  }

  /** Computes the days that are dirty now, and those that become dirty later. */
  async start(): Promise<void> {
    await this.followVersions();
    await this.#executor.start();
    await this.#runtime.queue.process(ROUND_QUEUE, 1, () =>
      this.#runExclusively((round) => this.#runRound(round)).then(
        () => this.#ended(null),
        (error) => this.#ended(error),
      ),
    );
    this.#pollShared(this.#sweepMs, () => this.#sweep());
    await this.requestRound();
  }

  /** Reads the versions of all metrics, and follows those of other processes unless `isContinuous` is false. */
  async followVersions(isContinuous = true): Promise<void> {
    const follow = () => this.#changes.follow(() => this.#versions.refresh());
    await follow();
    if (isContinuous) this.#pollShared(VERSIONS_MS, follow);
  }

  /** Requests a round after a load, unless the computation is paused. */
  async requestRound(): Promise<void> {
    await this.#changes.publish();
    if (!this.isPaused) await this.#queueRound();
  }

  async #queueRound(): Promise<void> {
    await this.#runtime.queue.add(ROUND_QUEUE, { id: ROUND_JOB, data: null, priority: 1 });
  }

  /** Requests no round while a bulk load runs: the load changes a day many times, and the day is computed once. */
  async pauseCompute<T>(load: () => Promise<T>): Promise<T> {
    this.#pauses++;
    try {
      return await load();
    } finally {
      this.#pauses--;
      await this.requestRound();
    }
  }

  /** Resolves when all days that were dirty at the call are computed; throws when a round has failed for good. */
  async waitUntilComputed(): Promise<void> {
    const { queue, keyValue } = this.#runtime;
    const upTo = await this.#numbers.take(1);
    await this.#queueRound();
    for (let requestedAt = performance.now(); ; await pause(COMPUTED_POLL_MS)) {
      if (BigInt((await keyValue.get(COMPUTED_UP_TO)) ?? 0) >= upTo) return;
      const [failure] = await queue.failed(ROUND_QUEUE);
      if (failure)
        throw new Error(`computation failed after ${failure.attempts} attempts: ${failure.reason}`);
      if (this.#isStopped) throw new Error(STOPPED);
      if (this.#runtime.isShared && performance.now() - requestedAt > REQUEST_RETRY_MS) {
        requestedAt = performance.now();
        await this.#queueRound();
      }
    }
  }

  /** Computes the windows of these metrics again, whatever the watermarks say, and returns their number. */
  rebuild(metrics: readonly MaterializedMetric[], from: string, until: string): Promise<number> {
    const names = new Set(metrics.map((metric) => metric.name));
    return this.#runExclusively(async () => {
      await this.#executor.forgetFolds(metrics);
      const calendar = await readCalendar(this.#runtime.store);
      const days = await readDaysToRebuild(this.#runtime.store, from, until);
      const windows = planDays(this.#metrics, days, calendar).filter((window) => names.has(window.metric));
      await this.#compute(windows);
      return windows.length;
    });
  }

  /** Stops after the windows that are being computed; the next start continues from the watermarks. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  async jobs(): Promise<{ waiting: number; failed: FailedJob[] }> {
    const { queue } = this.#runtime;
    const queues = [ROUND_QUEUE, ...this.#executor.queues];
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
    const { queue } = this.#runtime;
    const names = [ROUND_QUEUE, ...this.#executor.queues];
    // A queue that does not answer tells of no failure, and what is loaded is pending all the same.
    const failed = await Promise.all(names.map((name) => queue.failed(name).catch(() => [])));
    return readPending(store, this.#metrics, this.#hasFailed || failed.flat().length > 0);
  }

  /** Changes with every computation of a window of the metric. */
  version(metric: string): string {
    return this.#versions.of(metric);
  }

  get progress(): ComputeProgress {
    return this.#progress;
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
    const [failure] = await this.#runtime.queue.failed(ROUND_QUEUE);
    const now = performance.now();
    if (failure && now - this.#sweptAt < SWEEP_FAILED_MS) return;
    this.#sweptAt = now;
    const { store } = this.#runtime;
    const lowest = lowestOf(this.#metrics, await readWatermarks(store));
    if (await hasDirtyDays(store, lowest, this.#pallets)) await this.requestRound();
  }

  /** Runs a round or a rebuild, one at a time over all processes, after the windows of an interrupted one have ended. */
  async #runExclusively<T>(work: (round: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(ROUND_LOCK, async (round) => {
      await this.#executor.clear();
      const result = await work(round);
      if (!(await round.isHeld())) throw new Error(ROUND_LOCK_LOST);
      return result;
    });
  }

  /**
   * A number above those of all loads that are done or under way. The number is taken first: a load with a smaller
   * number is a member of `LOADING` by then, or has ended. After these loads have ended, every day that a load with
   * a smaller number changed is known to be dirty, and its data is complete.
   */
  async #waitForLoads(): Promise<bigint> {
    const { keyValue } = this.#runtime;
    const upTo = await this.#numbers.take(1);
    const before = new Set(await keyValue.members(LOADING));
    while (before.size > 0) {
      if (this.#isStopped) throw new Error(STOPPED);
      const still = new Set(await keyValue.members(LOADING));
      for (const load of before) if (!still.has(load)) before.delete(load);
      if (before.size > 0) await pause(LOADING_POLL_MS);
    }
    return upTo;
  }

  async #ended(error: unknown): Promise<void> {
    this.#hasFailed = error !== null;
    await this.#changes.publish();
    if (error !== null) throw error;
  }

  async #runRound(round: Lease): Promise<void> {
    const { store, keyValue } = this.#runtime;
    const upTo = await this.#waitForLoads();
    const computed = await readWatermarks(store);
    const days = await readDirtyDays(store, lowestOf(this.#metrics, computed), this.#pallets);
    if (days.length > 0) await this.#computeDirtyDays(days, computed, upTo, round);
    await keyValue.set(COMPUTED_UP_TO, upTo.toString());
  }

  async #computeDirtyDays(
    days: readonly NumberedDirtyDay[],
    computed: ReadonlyMap<string, bigint>,
    upTo: bigint,
    round: Lease,
  ): Promise<void> {
    const { store } = this.#runtime;
    // Their tables are empty, whatever facts were folded before: a key-value store may outlive a table.
    await this.#executor.forgetFolds(this.#metrics.filter(({ name }) => !computed.get(name)));
    const blockDays = days.filter(({ stream }) => stream === 'blocks');
    const newest = await readNewestBlocks(
      store,
      new Set(blockDays.map(({ relay_chain }) => relay_chain)),
      blockDays.map(({ day }) => day).sort()[0] ?? EVERYTHING.until,
    );
    const windows = planPending(this.#metrics, days, computed, await readCalendar(store));
    await this.#compute(windows);
    if (!(await round.isHeld())) throw new Error(ROUND_LOCK_LOST);
    // Loads that began meanwhile have higher numbers: their days are dirty in the next round.
    const sequence = upTo.toString();
    await store.insert(
      watermarks,
      this.#metrics.map(({ name }) => ({ metric: name, sequence })),
    );
    await store.insert(
      computedChains,
      newest.map((chain) => ({ ...chain, sequence })),
    );
  }

  async #compute(windows: readonly PlannedWindow[]): Promise<void> {
    const levels = [...new Set(windows.map((window) => window.level))].sort((a, b) => a - b);
    this.#progress = { done: 0, total: windows.length };
    const onDone = () => {
      this.#progress = { ...this.#progress, done: this.#progress.done + 1 };
    };
    try {
      for (const level of levels) {
        const ofLevel = windows.filter((window) => window.level === level);
        await this.#executor.run(ofLevel, onDone, () => this.#isStopped);
      }
    } finally {
      this.#progress = IDLE;
    }
  }
}
