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
/** One id for all requests, so that a request joins the one that waits. */
const ROUND_JOB = 'round';
/** Key of the number up to which every load is computed for all metrics that do not fail. */
const COMPUTED_UP_TO = 'computed_up_to';
/** Loads that follow one another do so in less. */
const QUIET_MS = 300;

interface RequestedRound {
  /** Of the load that requested it first; the others join its job. */
  readonly traceparent?: Traceparent;
}

interface RoundRequestsOptions {
  readonly runtime: Runtime;
  readonly rounds: Rounds;
  readonly leaseMs: number;
  readonly attempts: MetricAttempts;
  /** The longest wait for loads that follow one another: each changes days that the next round would compute again. */
  readonly roundWaitMsMax: number;
  /** Whether a bulk load runs: meanwhile only the last days are computed. */
  readonly isPaused: () => boolean;
  /** Whether somebody waits until everything is computed. */
  readonly isAwaited: () => boolean;
  readonly onEnded: () => Promise<void>;
  readonly runnerMetrics: RunnerMetrics;
}

/** Runs the rounds that are requested, one at a time over all processes. */
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

  /** Every load up to this number is computed for all metrics that do not fail. */
  async computedUpTo(): Promise<bigint> {
    return BigInt((await this.#options.runtime.keyValue.get(COMPUTED_UP_TO)) ?? 0);
  }

  /** The round that has used up its attempts, if any. */
  async failed(): Promise<FailedJob | undefined> {
    // If the queue does not answer, no failure is known; loaded data stay pending either way.
    const jobs = await this.#options.runtime.queue.failed(QUEUE).catch(ignore('rounds.failed', []));
    return jobs[0];
  }

  /** Runs a round or a rebuild, one at a time over all processes. */
  exclusively<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(QUEUE, work);
  }

  async #run(cause: Traceparent | undefined): Promise<void> {
    const { onEnded, runnerMetrics } = this.#options;
    try {
      await this.#runAfter(cause);
    } catch (error) {
      if (!this.#isStopped) runnerMetrics.failedRounds.inc();
      throw error;
    } finally {
      await onEnded();
    }
  }

  /** Runs a round; while loads follow one another, of the last days only. */
  async #runAfter(cause: Traceparent | undefined): Promise<void> {
    const { rounds, isPaused, isAwaited, roundWaitMsMax, runtime } = this.#options;
    const waitsUntil = performance.now() + roundWaitMsMax;
    for (let loadedAt = Number.NEGATIVE_INFINITY; ; await pause(QUIET_MS)) {
      if (this.#isStopped) throw new Error(STOPPED);
      const now = performance.now();
      if (await isLoading(runtime.keyValue)) loadedAt = now;
      const followsLoad = now - loadedAt < QUIET_MS && now < waitsUntil;
      const onlyLastDays = !isAwaited() && (isPaused() || followsLoad);
      const round = await this.exclusively((lease) => rounds.run(lease, { cause, onlyLastDays }));
      if (round !== null) {
        await this.#publish(round.computedUpTo);
        this.#planAttempt(round.nextAttemptAt);
        return;
      }
      // The end of the pause requests a round. Until then other processes may compute.
      if (isPaused()) return;
    }
  }

  /** A process that has lost the lock may have told of later loads. */
  async #publish(computedUpTo: bigint): Promise<void> {
    if (computedUpTo > (await this.computedUpTo()))
      await this.#options.runtime.keyValue.set(COMPUTED_UP_TO, computedUpTo.toString());
  }

  /** Requests a round when the next metric that failed may be tried again. */
  #planAttempt(atMs: number | null): void {
    clearTimeout(this.#nextAttempt);
    if (atMs === null || this.#isStopped) return;
    const { runtime, attempts } = this.#options;
    // A clock that was set back must not put it off.
    const waitMs = Math.min(atMs - runtime.clock.now(), attempts.waitMsMax);
    // The sweep requests it too.
    const request = () => this.request().catch(ignore('rounds.request'));
    this.#nextAttempt = setTimeout(request, Math.max(0, waitMs)).unref();
  }
}
