import { type Lease, Locks } from '../../infra/coordination/lock.ts';
import type { FailedJob, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import type { ComputeMeasures } from './compute-measures.ts';
import type { MetricAttempts, NextAttempt } from './failures.ts';
import { LaneRest } from './lane-rest.ts';
import { COMPUTE_LANES, type ComputeLane } from './lanes.ts';
import { RoundCauses } from './round-causes.ts';
import { LOCK_LOST, type RoundResult, type Rounds } from './rounds.ts';
import { STOPPED } from './window-queue.ts';

/** The queues of the rounds of both lanes. A round of the live lane also finds what is due in the other one. */
const ROUND_QUEUES: Readonly<Record<ComputeLane, string>> = { live: 'live-rounds', backfill: 'rounds' };
/** One id for all requests, so that a request joins the one that waits. */
const ROUND_JOB = 'round';
/** Key of the number up to which every load is computed for all metrics that do not fail. */
const COMPUTED_UP_TO = 'computed_up_to';
/** The longest wait for loads, by the time of the last round: the live lane waits beside a bulk load only. */
const REST_OF_ROUND: Readonly<Record<ComputeLane, number>> = { live: 1, backfill: 4 };

interface FailedRound extends FailedJob {
  readonly lane: ComputeLane;
}

interface LaneRoundsOptions {
  readonly runtime: Runtime;
  readonly rounds: Rounds;
  readonly leaseMs: number;
  readonly attempts: MetricAttempts;
  /** The longest wait for loads that follow one another. */
  readonly roundWaitMsMax: number;
  /** Whether a bulk load holds the backfill lane. */
  readonly isPaused: () => boolean;
  /** Whether somebody waits until everything is computed. */
  readonly isAwaited: () => boolean;
  readonly onEnded: () => Promise<void>;
  readonly measures: ComputeMeasures;
}

/** Runs the rounds that are requested, one of each lane at a time over all processes. */
export class LaneRounds {
  readonly queues: readonly string[] = Object.values(ROUND_QUEUES);
  readonly #options: LaneRoundsOptions;
  /** Rounds of a lane never run side by side, nor does a rebuild beside the backfill lane. */
  readonly #locks: Locks;
  readonly #rests: Readonly<Record<ComputeLane, LaneRest>>;
  readonly #causes: RoundCauses;
  /** The lanes whose last attempt of a round failed. */
  readonly #failedLanes = new Set<ComputeLane>();
  #nextAttempt: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: LaneRoundsOptions) {
    this.#options = options;
    const { keyValue } = options.runtime;
    this.#causes = new RoundCauses(options.runtime);
    this.#locks = new Locks(keyValue, { ttlMs: options.leaseMs });
    const { isPaused, isAwaited, roundWaitMsMax: waitMsMax } = options;
    const isOver = () => isAwaited() || this.#isStopped;
    const rest = (lane: ComputeLane, isOverToo = isOver) =>
      new LaneRest({ keyValue, ofRound: REST_OF_ROUND[lane], waitMsMax, isOver: isOverToo });
    this.#rests = { live: rest('live', () => isOver() || !isPaused()), backfill: rest('backfill') };
  }

  async start(): Promise<void> {
    const { queue } = this.#options.runtime;
    for (const lane of COMPUTE_LANES) await queue.process(ROUND_QUEUES[lane], 1, () => this.#run(lane));
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#nextAttempt);
  }

  async request(...lanes: readonly ComputeLane[]): Promise<void> {
    const { queue } = this.#options.runtime;
    await this.#causes.note(lanes);
    for (const lane of lanes) await queue.add(ROUND_QUEUES[lane], { id: ROUND_JOB, data: null, priority: 1 });
  }

  /** Every load up to this number is computed for all metrics that do not fail. */
  async computedUpTo(): Promise<bigint> {
    return BigInt((await this.#options.runtime.keyValue.get(COMPUTED_UP_TO)) ?? 0);
  }

  /** Rounds that have failed for good. */
  async failed(): Promise<FailedRound[]> {
    const { queue } = this.#options.runtime;
    const failed = COMPUTE_LANES.map(async (lane) => {
      // A queue that does not answer tells of no failure, and what is loaded is pending all the same.
      const jobs = await queue.failed(ROUND_QUEUES[lane]).catch(() => []);
      return jobs.map((job) => ({ ...job, lane }));
    });
    return (await Promise.all(failed)).flat();
  }

  /** Whether a round has failed, here or for good. */
  async hasFailed(): Promise<boolean> {
    return this.#failedLanes.size > 0 || (await this.failed()).length > 0;
  }

  /** Runs a round of a lane or a rebuild, one at a time over all processes. */
  async exclusively<T>(lane: ComputeLane, work: (round: Lease) => Promise<T>): Promise<T> {
    return this.#locks.run(ROUND_QUEUES[lane], async (lease) => {
      const result = await work(lease);
      if (!(await lease.isHeld())) throw new Error(LOCK_LOST);
      return result;
    });
  }

  async #run(lane: ComputeLane): Promise<void> {
    const { isPaused, isAwaited, onEnded } = this.#options;
    await this.#rests[lane].wait();
    if (this.#isStopped) throw new Error(STOPPED);
    // The end of the pause requests a round. Until then other processes may compute.
    if (lane === 'backfill' && isPaused() && !isAwaited()) return;
    try {
      await this.#runAfter(lane, await this.#causes.take(lane));
    } catch (error) {
      this.#failedLanes.add(lane);
      if (!this.#isStopped) this.#options.measures.failedRounds.inc({ lane });
      throw error;
    } finally {
      await onEnded();
    }
  }

  /** Runs a round that follows from the loads before it. */
  async #runAfter(lane: ComputeLane, causes: readonly Traceparent[]): Promise<void> {
    const rest = this.#rests[lane];
    const run = (lease: Lease) => rest.after(() => this.#options.rounds.run(lane, lease, causes));
    try {
      const round = await this.exclusively(lane, run);
      if (lane === 'live' && round.otherDirtyAt !== null) await this.#causes.keep('backfill', causes);
      await this.#follow(lane, round);
    } catch (error) {
      await this.#causes.keep(lane, causes);
      throw error;
    }
  }

  /** Does what follows from a round. */
  async #follow(lane: ComputeLane, { computedUpTo, otherDirtyAt, nextAttempt }: RoundResult): Promise<void> {
    const { isPaused, isAwaited } = this.#options;
    this.#failedLanes.delete(lane);
    await this.#tell(computedUpTo);
    this.#planAttempt(nextAttempt);
    const { backfill } = this.#rests;
    const mayRequest = !isPaused() || isAwaited();
    if (lane === 'live' && otherDirtyAt !== null && mayRequest && !backfill.finds(otherDirtyAt))
      await this.request('backfill');
  }

  /** The other lane may have told of later loads. */
  async #tell(computedUpTo: bigint): Promise<void> {
    if (computedUpTo > (await this.computedUpTo()))
      await this.#options.runtime.keyValue.set(COMPUTED_UP_TO, computedUpTo.toString());
  }

  /** Requests a round of the lane when the next metric that failed there is due: the other lane does not end its failure. */
  #planAttempt(next: NextAttempt | null): void {
    clearTimeout(this.#nextAttempt);
    if (next === null || this.#isStopped) return;
    const { runtime, attempts } = this.#options;
    // A clock that was set back must not put it off.
    const waitMs = Math.min(next.atMs - runtime.clock.now(), attempts.waitMsMax);
    const request = () => this.request(next.lane).catch(() => undefined);
    this.#nextAttempt = setTimeout(request, Math.max(0, waitMs)).unref();
  }
}
