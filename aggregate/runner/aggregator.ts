import { setTimeout as pause } from 'node:timers/promises';
import { sql } from '../../infra/clickhouse/sql.ts';
import { type Lease, Locks, type Mutex } from '../../infra/coordination/lock.ts';
import type { FailedJob, Numbers, Runtime } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/registry.ts';
import { LOADING } from '../../ingest/loader.ts';
import {
  ANY_PALLET,
  blocks,
  calls,
  dirtyDays,
  events,
  extrinsics,
  prices,
  snapshots,
} from '../../ingest/raw/tables.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { materializedMetrics } from '../metrics/index.ts';
import { type Calendar, readCalendar } from '../planner/calendar.ts';
import { type DirtyDay, type PlannedWindow, palletsIn, plan, type StreamTables } from '../planner/plan.ts';
import { readWatermarks, watermarks } from './ledger.ts';
import { MetricVersions } from './versions.ts';
import {
  InProcessExecutor,
  QueuedExecutor,
  STOPPED,
  WINDOWS,
  type WindowExecutor,
} from './window-executor.ts';

export const STREAM_TABLES: StreamTables = {
  blocks: [blocks.name, extrinsics.name, events.name, calls.name],
  snapshots: [snapshots.name],
  prices: [prices.name],
};

const QUEUE = 'compute';
/** Windows of the computation that runs; of none when nothing does. */
export interface ComputeProgress {
  readonly done: number;
  readonly total: number;
}
const NOTHING: ComputeProgress = { done: 0, total: 0 };

const ROUND = 'round';
const NOT_ALONE = 'another process may have planned meanwhile';
const SETTLED = 'settled';
const LOADING_POLL_MS = 20;
const SETTLED_POLL_MS = 10;
/** After so long without an answer a round is asked for again: the first wish may have been forgotten. */
const ASK_AGAIN_MS = 2000;
/** While a computation fails for good, it is not begun again with every sweep. */
const SWEEP_FAILED_MS = 60_000;

export interface AggregatorOptions {
  readonly runtime: Runtime;
  readonly numbers: Numbers;
  /** Held while a batch of this process is half loaded: rounds that look between two batches do less twice. */
  readonly gate: Mutex;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** Whether other processes load and compute too, and how often to look for what they did. */
  readonly shared?: { readonly sweepMs: number; readonly versionsMs: number };
  readonly metrics?: readonly MaterializedMetric[];
}

/**
 * Keeps the metrics up to date: finds what was touched since the last round, plans the windows and computes them
 * level by level. A touch that lands during a round makes one more. Of all processes one plans at a time.
 */
export class Aggregator {
  readonly #options: AggregatorOptions;
  readonly #runtime: Runtime;
  readonly #numbers: Numbers;
  readonly #metrics: readonly MaterializedMetric[];
  readonly #work: WindowExecutor;
  /** Of which pallets touches matter to any metric. */
  readonly #pallets: readonly string[];
  readonly #versions: MetricVersions;
  /** Rounds and rebuilds never run side by side: an older window must not land after a newer one. */
  readonly #locks: Locks;
  readonly #timers: NodeJS.Timeout[] = [];
  #progress: ComputeProgress = NOTHING;
  #roundsHeld = 0;
  #isStopped = false;

  constructor(options: AggregatorOptions) {
    const { runtime, numbers, gate, concurrency, leaseMs, shared, metrics = materializedMetrics } = options;
    this.#options = options;
    this.#runtime = runtime;
    this.#numbers = numbers;
    this.#metrics = metrics;
    this.#versions = new MetricVersions(
      runtime,
      metrics.map(({ name }) => name),
    );
    const work = {
      runtime,
      numbers,
      gate,
      metrics,
      concurrency,
      leaseMs,
      onComputed: (metric: string, version: bigint) => this.#versions.set(metric, version.toString()),
    };
    this.#locks = new Locks(runtime.keyValue, { ttlMs: leaseMs });
    this.#work = shared ? new QueuedExecutor(work) : new InProcessExecutor(work);
    this.#pallets = [
      '',
      ANY_PALLET,
      ...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric)))),
    ];
  }

  /** Computes what is touched from now on, and what was touched before. */
  async start(): Promise<void> {
    const { shared } = this.#options;
    await this.followVersions();
    await this.#work.start();
    await this.#runtime.queue.process(QUEUE, 1, () => this.#alone((round) => this.#computeTouched(round)));
    if (shared) this.#every(shared.sweepMs, () => this.#sweep());
    await this.requestRound();
  }

  /** Knows the versions of what is computed, here or by other processes; where nobody is answered, those of now. */
  async followVersions(isKeptUp = true): Promise<void> {
    const { shared } = this.#options;
    await this.#versions.refresh();
    if (shared && isKeptUp) this.#every(shared.versionsMs, () => this.#versions.refresh());
  }

  /** Says that something was touched; the round collapses with one that waits already. */
  async requestRound(): Promise<void> {
    if (this.#roundsHeld === 0) await this.#askForRound();
  }

  async #askForRound(): Promise<void> {
    await this.#runtime.queue.add(QUEUE, { id: 'touched', data: null, priority: 1 });
  }

  /** Computes nothing while a bulk load runs: its days are touched many times and computed once. */
  async pauseCompute<T>(work: () => Promise<T>): Promise<T> {
    this.#roundsHeld++;
    try {
      return await work();
    } finally {
      this.#roundsHeld--;
      await this.requestRound();
    }
  }

  /** Resolves when everything that was touched before is computed, whatever comes meanwhile; throws what could not be. */
  async waitUntilComputed(): Promise<void> {
    const { queue, keyValue } = this.#runtime;
    const upTo = await this.#numbers.take(1);
    await this.#askForRound();
    for (let asked = performance.now(); ; await pause(SETTLED_POLL_MS)) {
      if (BigInt((await keyValue.get(SETTLED)) ?? 0) >= upTo) return;
      const [failure] = await queue.failed(QUEUE);
      if (failure)
        throw new Error(`computation failed after ${failure.attempts} attempts: ${failure.reason}`);
      if (this.#isStopped) throw new Error(STOPPED);
      if (this.#options.shared && performance.now() - asked > ASK_AGAIN_MS) {
        asked = performance.now();
        await this.#askForRound();
      }
    }
  }

  /** Makes the windows of some metrics anew, whatever the ledger says, and returns how many there were. */
  rebuild(metrics: readonly MaterializedMetric[], from: string, until: string): Promise<number> {
    const named = new Set(metrics.map((metric) => metric.name));
    return this.#alone(async () => {
      await this.#work.forgetFolds();
      const calendar = await readCalendar(this.#runtime.store);
      const touches = await this.#runtime.store.rows<DirtyDay>(
        sql`SELECT DISTINCT stream, ${ANY_PALLET} AS pallet, relay_chain, chain, toString(day) AS day FROM ${dirtyDays}
          WHERE dirty_days.day >= ${from} AND dirty_days.day < ${until} AND dirty_days.pallet IN ('', ${ANY_PALLET})`,
      );
      const windows = this.#plan(touches, calendar).filter((window) => named.has(window.metric));
      await this.#compute(windows);
      return windows.length;
    });
  }

  /** Lets go between two windows; the next start finds in the ledger what is left. */
  stop(): void {
    this.#isStopped = true;
    for (const timer of this.#timers) clearInterval(timer);
  }

  get isPaused(): boolean {
    return this.#roundsHeld > 0;
  }

  async jobs(): Promise<{ waiting: number; failed: FailedJob[] }> {
    const { queue } = this.#runtime;
    const queues = this.#options.shared ? [QUEUE, WINDOWS] : [QUEUE];
    const waiting = await Promise.all(queues.map((name) => queue.waiting(name)));
    const failed = await Promise.all(queues.map((name) => queue.failed(name)));
    return { waiting: waiting.reduce((sum, count) => sum + count, 0), failed: failed.flat() };
  }

  /** Changes with every recomputation of a metric's table. */
  version(metric: string): string {
    return this.#versions.of(metric);
  }

  get progress(): ComputeProgress {
    return this.#progress;
  }

  #every(ms: number, work: () => Promise<void>): void {
    let isBusy = false;
    const run = async () => {
      if (isBusy || this.#isStopped) return;
      isBusy = true;
      // A service that is away is asked again the next time.
      await work().catch(() => undefined);
      isBusy = false;
    };
    this.#timers.push(setInterval(run, ms).unref());
  }

  #sweptAt = 0;

  /** Finds what was touched while nobody heard of it: queues may be emptied at any time. */
  async #sweep(): Promise<void> {
    const [failure] = await this.#runtime.queue.failed(QUEUE);
    const now = performance.now();
    if (failure && now - this.#sweptAt < SWEEP_FAILED_MS) return;
    this.#sweptAt = now;
    const done = await readWatermarks(this.#runtime.store);
    const oldest = this.#oldest(done);
    const [due] = await this.#runtime.store.rows<{ days: number }>(
      sql`SELECT count() AS days FROM ${dirtyDays} WHERE dirty_days.sequence > ${oldest} AND pallet IN ${this.#pallets}`,
    );
    if ((due?.days ?? 0) > 0) await this.requestRound();
  }

  #oldest(done: ReadonlyMap<string, bigint>): bigint {
    return this.#metrics.reduce((least, metric) => min(least, done.get(metric.name) ?? 0n), 1n << 63n);
  }

  /** One planner over all processes; what an interrupted one has left is done before the next plans. */
  async #alone<T>(work: (round: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(ROUND, async (round) => {
      await this.#work.clear();
      const result = await work(round);
      if (!(await round.isHeld())) throw new Error(NOT_ALONE);
      return result;
    });
  }

  /**
   * A number above those of all loads that are done or under way. It is taken first: who took a smaller one is known
   * to load, or has loaded. When they are done, whatever was touched below it is there, and whole.
   */
  async #reached(): Promise<bigint> {
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

  async #computeTouched(round: Lease): Promise<void> {
    const { store, keyValue } = this.#runtime;
    const upTo = await this.#reached();
    const done = await readWatermarks(store);
    const oldest = this.#oldest(done);
    const touches = await store.rows<DirtyDay & { sequence: string }>(
      sql`SELECT stream, pallet, relay_chain, chain, toString(day) AS day, toString(max(dirty_days.sequence)) AS sequence
      FROM ${dirtyDays} WHERE dirty_days.sequence > ${oldest} AND pallet IN ${this.#pallets}
      GROUP BY stream, pallet, relay_chain, chain, day`,
    );
    if (touches.length > 0) await this.#computeFresh(touches, done, upTo, round);
    await keyValue.set(SETTLED, upTo.toString());
  }

  async #computeFresh(
    touches: readonly (DirtyDay & { sequence: string })[],
    done: ReadonlyMap<string, bigint>,
    upTo: bigint,
    round: Lease,
  ): Promise<void> {
    const calendar = await readCalendar(this.#runtime.store);
    const windows = new Map<string, PlannedWindow>();
    // Metrics of one age share a plan; a metric that is new to this store gets its whole history.
    for (const age of new Set(this.#metrics.map((metric) => done.get(metric.name) ?? 0n))) {
      const fresh = touches.filter((touch) => BigInt(touch.sequence) > age);
      for (const window of this.#plan(fresh, calendar)) {
        if ((done.get(window.metric) ?? 0n) === age) windows.set(JSON.stringify(window), window);
      }
    }
    await this.#compute([...windows.values()]);
    if (!(await round.isHeld())) throw new Error(NOT_ALONE);
    // Loads that began meanwhile have higher numbers: what they touched is due again.
    await this.#runtime.store.insert(
      watermarks,
      this.#metrics.map((metric) => ({ metric: metric.name, sequence: upTo.toString() })),
    );
  }

  #plan(touches: readonly DirtyDay[], calendar: Calendar): PlannedWindow[] {
    return plan({
      dirtyDays: touches,
      metrics: this.#metrics,
      streams: STREAM_TABLES,
      ...calendar,
      relays: RELAY_CHAINS,
    });
  }

  async #compute(windows: readonly PlannedWindow[]): Promise<void> {
    const levels = [...new Set(windows.map((window) => window.level))].sort((a, b) => a - b);
    this.#progress = { done: 0, total: windows.length };
    const onDone = () => {
      this.#progress = { ...this.#progress, done: this.#progress.done + 1 };
    };
    try {
      for (const level of levels) {
        const some = windows.filter((window) => window.level === level);
        await this.#work.run(some, onDone, () => this.#isStopped);
      }
    } finally {
      this.#progress = NOTHING;
    }
  }
}

const min = (a: bigint, b: bigint) => (a < b ? a : b);
