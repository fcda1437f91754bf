import { setTimeout as pause } from 'node:timers/promises';
import { lowestOf } from '../../infra/coordination/sequence.ts';
import { ProductError } from '../../infra/errors.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Logger } from '../../infra/logger.ts';
import type { FailedJob, Numbers, Runtime, Store } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import { loadedUpTo } from '../../ingest/load/loads-in-progress.ts';
import type { MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { supportsChanges } from '../slices.ts';
import { type ChainAsOf, readChainsAsOf } from './chains-as-of.ts';
import { Claims } from './claims.ts';
import { resetEntities } from './compute-entities.ts';
import { WindowComputer } from './compute-window.ts';
import { DataSignal } from './data-signal.ts';
import {
  describeFailures,
  type FailedMetric,
  type MetricAttempts,
  readFailedMetrics,
  retryNow,
} from './failures.ts';
import { readNewestNumber } from './ledger.ts';
import { type PendingByMetric, readPending } from './pending.ts';
import { RoundRequests } from './round-requests.ts';
import { RoundStateReader } from './round-state.ts';
import { Rounds } from './rounds.ts';
import { createRunnerMetrics, type RunnerMetrics } from './runner-metrics.ts';
import { MetricVersions } from './versions.ts';
import { type ComputedRound, type ComputeOptions, STOPPED, WindowQueue } from './window-queue.ts';

/** Windows of the running rounds and rebuilds; both are 0 when none runs. */
export interface ComputeProgress {
  readonly done: number;
  readonly total: number;
}

/** Bounds of the changes that may be listed. */
interface ChangeProgress {
  /** All changes up to this number are visible, and no more will come. */
  readonly visible: bigint;
  /** Every later change has a higher number, even if clocks are set back, because the store holds a number this high. */
  readonly passed: bigint;
}

const COMPUTED_POLL_MS = 10;
/** A queue may lose a request, so a process that waits for a round repeats the request after this time. */
const REQUEST_RETRY_MS = 2000;
/** Interval to read versions of other processes; a server may use an old version for this long. */
const VERSIONS_MS = 50;
/** While rounds fail, the sweep requests one at this interval. */
const SWEEP_FAILED_MS = 60_000;

interface AggregatorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Time between two checks for dirty days without a round. */
  readonly sweepMs: number;
  /** Longest wait of a round while loads follow one another. */
  readonly roundWaitMsMax: number;
  readonly attempts: MetricAttempts;
  readonly logger: Pick<Logger, 'info' | 'error'>;
  readonly metrics?: readonly MaterializedMetric[];
  readonly runnerMetrics?: RunnerMetrics;
}

/**
 * Keeps the metrics up to date in rounds. A round reads the days above the watermarks, plans their windows and computes
 * these: inputs of a metric first, then newest first. One round runs at a time over all processes. Meanwhile newly
 * loaded blocks of the last days are computed too; other days wait for the next round. A failing metric stops only the
 * metrics that read it, until its next attempt.
 *
 * Windows are jobs of a queue that any process computes. Processes poll for the loads and results of others, and repeat
 * lost requests.
 */
export class Aggregator {
  readonly #options: AggregatorOptions;
  readonly #runtime: Runtime;
  readonly #metrics: readonly MaterializedMetric[];
  readonly #claims: Claims;
  readonly #windows: WindowQueue;
  readonly #rounds: Rounds;
  readonly #roundState: RoundStateReader;
  readonly #versions: MetricVersions;
  readonly #dataSignal: DataSignal;
  readonly #requests: RoundRequests;
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #runs = new Set<{ done: number; readonly total: number }>();
  #pauses = 0;
  /** Number of calls that wait until everything is computed. */
  #waiters = 0;
  #isStopped = false;
  #sweptAt = 0;

  constructor(options: AggregatorOptions) {
    const { runtime, metrics = materializedMetrics, runnerMetrics = createRunnerMetrics() } = options;
    this.#options = options;
    this.#runtime = runtime;
    this.#metrics = metrics;
    this.#versions = new MetricVersions(
      runtime,
      metrics.map(({ name }) => name),
    );
    this.#dataSignal = new DataSignal(runtime.keyValue);
    this.#claims = new Claims({ ...options, keyValue: runtime.keyValue });
    this.#windows = new WindowQueue({
      ...options,
      metrics,
      computer: new WindowComputer({ ...options, metrics, runnerMetrics, claims: this.#claims }),
      onComputed: (metric, version) => this.#versions.set(metric, version),
    });
    this.#roundState = new RoundStateReader({ ...options, metrics, runnerMetrics });
    this.#rounds = new Rounds({
      ...options,
      metrics,
      runnerMetrics,
      state: this.#roundState,
      compute: (windows, options) => this.#compute(windows, options),
      dataSignal: this.#dataSignal,
    });
    this.#requests = new RoundRequests({
      ...options,
      runnerMetrics,
      rounds: this.#rounds,
      isPaused: () => this.isPaused,
      isAwaited: () => this.#waiters > 0,
      onEnded: () => this.#dataSignal.publish(),
    });
  }

  /** Computes days that are dirty now or become dirty later. */
  async start(): Promise<void> {
    await this.followVersions();
    await this.#windows.start();
    await this.#requests.start();
    this.#poll(this.#options.sweepMs, () => this.#sweep());
    await this.requestRound();
  }

  /** Reads the versions of all metrics, and follows those of other processes unless `isContinuous` is false. */
  async followVersions(isContinuous = true): Promise<void> {
    const follow = () => this.#dataSignal.follow(() => this.#versions.refresh());
    await follow();
    if (isContinuous) this.#poll(VERSIONS_MS, follow);
  }

  /** Requests a round after a load. */
  async requestRound(): Promise<void> {
    await this.#dataSignal.publish();
    await this.#requests.request();
  }

  /** Computes only the last days while a bulk load runs, because it changes a day many times. */
  async pauseComputation<T>(load: () => Promise<T>): Promise<T> {
    this.#pauses++;
    try {
      return await load();
    } finally {
      this.#pauses--;
      await this.requestRound();
    }
  }

  /**
   * Resolves when all days that were dirty at the call are computed. Throws `metrics_failed` if some metrics failed, or
   * another error if a round used up its attempts.
   */
  async waitUntilComputed(): Promise<void> {
    const failures = await this.waitForFailures();
    if (failures.length > 0) throw new ProductError('metrics_failed', describeFailures(failures));
  }

  /** As `waitUntilComputed`, but returns the failed metrics. */
  async waitForFailures(): Promise<readonly FailedMetric[]> {
    this.#waiters++;
    try {
      return await this.#settled();
    } finally {
      this.#waiters--;
    }
  }

  async #settled(): Promise<readonly FailedMetric[]> {
    const { keyValue, store } = this.#runtime;
    const upTo = await this.#options.numbers.take(1);
    while ((await loadedUpTo(keyValue, upTo)) < upTo) {
      if (this.#isStopped) throw new Error(STOPPED);
      await pause(COMPUTED_POLL_MS);
    }
    await this.#requests.request();
    let isTriedAgain = false;
    for (let requestedAt = performance.now(); ; await pause(COMPUTED_POLL_MS)) {
      if ((await this.#requests.computedUpTo()) >= upTo) return readFailedMetrics(store);
      const failed = await this.#requests.failed();
      if (failed) {
        // The first failure may have been before the call, while a service was down.
        if (isTriedAgain)
          throw new Error(
            `a round failed ${failed.attempts} times: ${failed.reason}; loaded data stay pending, and the next round retries`,
          );
        isTriedAgain = true;
        await this.#requests.request();
      }
      if (this.#isStopped) throw new Error(STOPPED);
      if (performance.now() - requestedAt > REQUEST_RETRY_MS) {
        requestedAt = performance.now();
        await this.#requests.request();
      }
    }
  }

  /**
   * Recomputes the windows of these metrics regardless of the watermarks, and returns their number. A failed metric is
   * then retried at once.
   */
  async rebuild(metrics: readonly MaterializedMetric[], from: string, until: string): Promise<number> {
    const names = new Set(metrics.map((metric) => metric.name));
    const ports = { store: this.#runtime.store, numbers: this.#options.numbers };
    const count = await this.#requests.runExclusive(async () => {
      await resetEntities(ports, metrics, RELAY_CHAINS);
      const windows = await this.#roundState.planRebuild(names, from, until);
      const options = { queue: 'others', meanwhile: () => this.#rounds.computeLastDays() } as const;
      const [failure] = (await this.#compute(windows, options)).failures.values();
      if (failure) throw new ProductError('metrics_failed', failure.reason, failure.detail);
      return windows.length;
    });
    const failed = (await readFailedMetrics(ports.store)).filter(({ metric }) => names.has(metric));
    if (failed.length > 0) {
      await retryNow(ports, failed);
      const again = (await this.waitForFailures()).filter(({ metric }) => names.has(metric));
      if (again.length > 0) throw new ProductError('metrics_failed', describeFailures(again));
    }
    return count;
  }

  /** Stops after the running windows; the next start continues from the watermarks. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
    this.#requests.stop();
  }

  get isPaused(): boolean {
    return this.#pauses > 0;
  }

  async jobs(): Promise<{ waiting: number; failed: FailedJob[] }> {
    const { queue } = this.#runtime;
    const queues = [...this.#requests.queues, ...this.#windows.queues];
    const waiting = await Promise.all(queues.map((name) => queue.waiting(name)));
    const failed = await Promise.all(queues.map((name) => queue.failed(name)));
    return { waiting: waiting.reduce((sum, count) => sum + count, 0), failed: failed.flat() };
  }

  /** Changes with every load and round, but not before `version` does; also every two seconds, see `DataSignal`. */
  get dataToken(): string {
    return this.#dataSignal.token;
  }

  /** Reads which loaded data the metrics lack. */
  async pending(store: Pick<Store, 'rows'> = this.#runtime.store): Promise<PendingByMetric> {
    const hasFailed = (await this.#requests.failed()) !== undefined;
    const failures = await readFailedMetrics(store);
    return readPending(store, { metrics: this.#metrics, failures, hasFailed });
  }

  /** Reads the newest block of each chain in the rows of the metrics. */
  async chainsAsOf(store: Pick<Store, 'rows'>): Promise<readonly ChainAsOf[]> {
    return readChainsAsOf(store, { metrics: this.#metrics, failures: await readFailedMetrics(store) });
  }

  async changeProgress(): Promise<ChangeProgress> {
    const names = this.#metrics.filter(supportsChanges).map(({ name }) => name);
    const stored = await readNewestNumber(this.#runtime.store);
    const visible = await this.#claims.visibleUpTo(await this.#options.numbers.take(1), names);
    return { visible, passed: lowestOf([stored], visible) };
  }

  /** Changes with every computation of a window of the metric. */
  version(metric: string): string {
    return this.#versions.of(metric);
  }

  get progress(): ComputeProgress {
    const sum = { done: 0, total: 0 };
    for (const { done, total } of this.#runs) {
      sum.done += done;
      sum.total += total;
    }
    return sum;
  }

  /** Repeats the work until `stop`. */
  #poll(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const run = async () => {
      if (isBusy || this.#isStopped) return;
      isBusy = true;
      // If a service does not answer, the next interval retries.
      await work().catch(ignore('compute.poll'));
      isBusy = false;
    };
    this.#timers.push(setInterval(run, ms).unref());
  }

  /** Requests a round for dirty days whose request was lost. A queue can lose its jobs at any time. */
  async #sweep(): Promise<void> {
    const now = performance.now();
    if ((await this.#requests.failed()) && now - this.#sweptAt < SWEEP_FAILED_MS) return;
    this.#sweptAt = now;
    if (await this.#roundState.hasDirtyDays()) await this.requestRound();
  }

  async #compute(
    windows: readonly PlannedWindow[],
    options: Pick<ComputeOptions, 'queue' | 'meanwhile'>,
  ): Promise<ComputedRound> {
    const run = { done: 0, total: windows.length };
    const onDone = (count: number) => {
      run.done += count;
    };
    this.#runs.add(run);
    try {
      return await this.#windows.run(windows, { ...options, onDone, isStopped: () => this.#isStopped });
    } finally {
      this.#runs.delete(run);
    }
  }
}
