import { setTimeout as pause } from 'node:timers/promises';
import { type Lease, Locks } from '../../infra/coordination/lock.ts';
import { ignore } from '../../infra/ignore.ts';
import type { FailedJob, Runtime, Traceparent } from '../../infra/ports.ts';
import { activeTraceparent } from '../../infra/tracing/spans.ts';
import { isLoading } from '../../ingest/load/loads-in-progress.ts';
import type { MetricAttempts } from './failures.ts';
import type { Rounds } from './rounds.ts';
import type { RunnerMetrics } from './runner-metrics.ts';
import { STOPPED } from './window-queue.ts';

const QUEUE = 'rounds';
/** All requests have the same id, so that a request joins the waiting one. */
const ROUND_JOB = 'round';
/** Key of the number up to which every load is computed, except for failing metrics. */
const COMPUTED_UP_TO = 'computed_up_to';
/** Loads within this time of each other count as one series. */
const QUIET_MS = 300;

interface RequestedRound {
  /** The trace of the first load that requested the round. */
  readonly traceparent?: Traceparent;
}

interface RoundRequestsOptions {
  readonly runtime: Runtime;
  readonly rounds: Rounds;
  readonly leaseMs: number;
  readonly attempts: MetricAttempts;
  /** Longest wait while loads follow one another; each load would make the next round recompute the same days. */
  readonly roundWaitMsMax: number;
  /** True while a bulk load runs; only the last days are computed then. */
  readonly isPaused: () => boolean;
  /** True while a caller waits until everything is computed. */
  readonly isAwaited: () => boolean;
  readonly onEnded: () => Promise<void>;
  readonly runnerMetrics: RunnerMetrics;
}

/** Runs requested rounds, one at a time over all processes. */
export class RoundRequests {
  readonly queues: readonly string[] = [QUEUE];
  readonly #options: RoundRequestsOptions;
  /** Rounds and rebuilds never run side by side. */
  readonly #locks: Locks;
  #nextAttempt: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: RoundRequestsOptions) {
    const { keyValue } = options.runtime;
    this.#options = options;
    this.#locks = new Locks(keyValue, { ttlMs: options.leaseMs });
  }

  async start(): Promise<void> {
    await this.#options.runtime.queue.process<RequestedRound>(QUEUE, 1, ({ traceparent }) =>
      this.#run(traceparent),
    );
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#nextAttempt);
  }

  async request(): Promise<void> {
    const traceparent = activeTraceparent();
    const data: RequestedRound = traceparent === undefined ? {} : { traceparent };
    await this.#options.runtime.queue.add(QUEUE, { id: ROUND_JOB, data });
  }

  /** The number up to which every load is computed, except for failing metrics. */
  async computedUpTo(): Promise<bigint> {
    return BigInt((await this.#options.runtime.keyValue.get(COMPUTED_UP_TO)) ?? 0);
  }

  /** The round that has used up its attempts, if any. */
  async failed(): Promise<FailedJob | undefined> {
    // If the queue does not answer, this reports no failure; loaded data stay pending either way.
    const jobs = await this.#options.runtime.queue.failed(QUEUE).catch(ignore('rounds.failed', []));
    return jobs[0];
  }

  /** Runs a round or a rebuild, one at a time over all processes. */
  runExclusive<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(QUEUE, work);
  }

  async #run(cause: Traceparent | undefined): Promise<void> {
    const { onEnded, runnerMetrics } = this.#options;
    try {
      await this.#runWhenLoadsPause(cause);
    } catch (error) {
      if (!this.#isStopped) runnerMetrics.failedRounds.inc();
      throw error;
    } finally {
      await onEnded();
    }
  }

  /** Runs a round when loads pause. While loads follow one another, computes only the last days. */
  async #runWhenLoadsPause(cause: Traceparent | undefined): Promise<void> {
    const { rounds, isPaused, isAwaited, roundWaitMsMax, runtime } = this.#options;
    const waitsUntil = performance.now() + roundWaitMsMax;
    for (let loadedAt = Number.NEGATIVE_INFINITY; ; await pause(QUIET_MS)) {
      if (this.#isStopped) throw new Error(STOPPED);
      const now = performance.now();
      if (await isLoading(runtime.keyValue)) loadedAt = now;
      const followsLoad = now - loadedAt < QUIET_MS && now < waitsUntil;
      const onlyLastDays = !isAwaited() && (isPaused() || followsLoad);
      const round = await this.runExclusive((lease) => rounds.run(lease, { cause, onlyLastDays }));
      if (round !== null) {
        await this.#publish(round.computedUpTo);
        this.#planAttempt(round.nextAttemptAt);
        return;
      }
      // The end of the pause requests a round; until then the lock is free for other processes.
      if (isPaused()) return;
    }
  }

  /** Never lowers the number: another process may have published a higher one after this process lost the lock. */
  async #publish(computedUpTo: bigint): Promise<void> {
    if (computedUpTo > (await this.computedUpTo()))
      await this.#options.runtime.keyValue.set(COMPUTED_UP_TO, computedUpTo.toString());
  }

  /** Requests a round when the next metric that failed may be tried again. */
  #planAttempt(atMs: number | null): void {
    clearTimeout(this.#nextAttempt);
    if (atMs === null || this.#isStopped) return;
    const { runtime, attempts } = this.#options;
    // A clock that was set back must not delay the retry further.
    const waitMs = Math.min(atMs - runtime.clock.now(), attempts.waitMsMax);
    // If this request fails, the sweep repeats it.
    const request = () => this.request().catch(ignore('rounds.request'));
    this.#nextAttempt = setTimeout(request, Math.max(0, waitMs)).unref();
  }
}
