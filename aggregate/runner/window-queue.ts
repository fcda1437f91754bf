import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job, Runtime, Traceparent } from '../../infra/ports.ts';
import { activeTraceparent } from '../../infra/tracing/spans.ts';
import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import type { WindowComputer } from './compute-window.ts';
import { type FailureTexts, failureTexts, readsByMetric, type WindowFailure } from './failures.ts';
import { computedWindows, type LedgerEntry } from './ledger.ts';
import { Schedule } from './schedule.ts';
import { publishVersion } from './versions.ts';

interface WindowQueueOptions {
  readonly runtime: Runtime;
  readonly metrics: readonly MaterializedMetric[];
  readonly computer: WindowComputer;
  /** Windows of each queue that this process computes at the same time. */
  readonly concurrency: number;
  readonly onComputed: (metric: string, version: string) => void;
}

export interface ComputedRound {
  readonly computed: number;
  /** By metric. Windows of metrics that read a failed one were skipped. */
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
}

export interface ComputeOptions {
  readonly queue: keyof typeof QUEUES;
  /** Called with the number of windows that were computed or skipped. */
  readonly onDone: (windows: number) => void;
  readonly isStopped: () => boolean;
  /** Called repeatedly while windows are computed. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
}

export const STOPPED = 'the process is stopping; its next start computes the rest';

/** The last days have their own queue and slots, so that they do not wait for windows of years. */
const QUEUES = { lastDays: 'windows-of-last-days', others: 'windows' } as const;
/** Most windows of a round in the queue; the rest wait in the process that planned them. */
const QUEUED_MAX = 256;
const POLL_MS = 20;
/** Time to live of an outcome. If it is evicted, the window is computed again. */
const OUTCOME_MS = 3_600_000;
/** Ledger entries are written in batches, because each write adds a part that the engine has to merge. */
const LEDGER_MS = 1000;

interface QueuedWindow {
  readonly window: PlannedWindow;
  /** The round that waits for the window. */
  readonly run: string;
  /** The trace of the round, if any. */
  readonly traceparent?: Traceparent;
}

/** The failure of a window, or its ledger entry; null if there was nothing to compute. */
type Outcome = { readonly failure: FailureTexts } | { readonly entry: LedgerEntry | null };

/** Queues the windows of a round as jobs that any process computes. */
export class WindowQueue {
  readonly queues = Object.values(QUEUES);
  readonly #options: WindowQueueOptions;

  constructor(options: WindowQueueOptions) {
    this.#options = options;
  }

  /** Computes queued windows in this process. */
  async start(): Promise<void> {
    const { runtime, concurrency } = this.#options;
    for (const name of this.queues)
      await runtime.queue.process<QueuedWindow>(name, concurrency, (job) => this.#process(job));
  }

  /** Computes a window and stores its outcome. A later round retries a failed window. */
  async #process({ window, run, traceparent }: QueuedWindow): Promise<void> {
    const { keyValue } = this.#options.runtime;
    const outcome = await this.#compute(window, traceparent);
    const id = idOf(window);
    await keyValue.set(outcomeKey(run, id), JSON.stringify(outcome), { ttlMs: OUTCOME_MS });
    await keyValue.join(doneKey(run), id, OUTCOME_MS);
  }

  async #compute(window: PlannedWindow, round?: Traceparent): Promise<Outcome> {
    const { runtime, computer, onComputed } = this.#options;
    try {
      const entry = await computer.compute(window, round);
      if (entry) {
        onComputed(window.metric, String(entry.version));
        await publishVersion(runtime.keyValue, window.metric, String(entry.version));
      }
      return { entry };
    } catch (error) {
      return { failure: failureTexts(error) };
    }
  }

  /** Resolves when all windows are computed, except those of failed metrics and of metrics that read them. */
  async run(
    windows: readonly PlannedWindow[],
    { queue: queueKey, onDone, isStopped, meanwhile }: ComputeOptions,
  ): Promise<ComputedRound> {
    const { runtime, metrics } = this.#options;
    const { queue } = runtime;
    const name = QUEUES[queueKey];
    const run = randomUUID();
    const traceparent = activeTraceparent();
    const traced = traceparent === undefined ? {} : { traceparent };
    const jobOf = (window: PlannedWindow): Job<QueuedWindow> => ({
      // Another run may wait for the same window.
      id: `${run}/${idOf(window)}`,
      data: { window, run, ...traced },
    });
    const schedule = new Schedule(windows, readsByMetric(metrics));
    const queued = new Map<string, PlannedWindow>();
    const ledger = new LedgerWriter(runtime);
    let computed = 0;
    let idle = new Idle();
    while (!schedule.isOver) {
      if (isStopped()) {
        await ledger.write();
        throw new Error(STOPPED);
      }
      for (let window = next(schedule, queued); window; window = next(schedule, queued)) {
        queued.set(idOf(window), window);
        await queue.add(name, jobOf(window));
      }
      if (!idle.isAwaited) idle.follow(queue.idle(name));
      await pause(POLL_MS);
      await meanwhile?.();
      // A queue that lost its jobs is idle too, so the windows are queued again below.
      const wasIdle = idle.isOver;
      for (const [window, outcome] of await this.#outcomes(run, queued)) {
        if ('failure' in outcome) {
          onDone(1 + schedule.failed(window, outcome.failure));
          continue;
        }
        if (outcome.entry) ledger.add(outcome.entry);
        computed++;
        schedule.computed(window);
        onDone(1);
      }
      if (ledger.isDue) await ledger.write();
      if (!wasIdle) continue;
      for (const window of queued.values()) await queue.add(name, jobOf(window));
      idle = new Idle();
    }
    await ledger.write();
    return { computed, failures: schedule.failures };
  }

  /** Removes finished windows from `queued` and returns them with their outcomes. */
  async #outcomes(run: string, queued: Map<string, PlannedWindow>): Promise<[PlannedWindow, Outcome][]> {
    const { keyValue } = this.#options.runtime;
    const outcomes: [PlannedWindow, Outcome][] = [];
    for (const id of await keyValue.members(doneKey(run))) {
      const outcome = await keyValue.take(outcomeKey(run, id));
      await keyValue.leave(doneKey(run), id);
      const window = queued.get(id);
      // If the outcome was evicted, the window stays queued and is computed again.
      if (!window || outcome === null) continue;
      queued.delete(id);
      outcomes.push([window, JSON.parse(outcome) as Outcome]);
    }
    return outcomes;
  }
}

/** Writes ledger entries in batches. */
class LedgerWriter {
  readonly #runtime: Pick<Runtime, 'store' | 'clock'>;
  #entries: LedgerEntry[] = [];
  #writtenAt: number;

  constructor(runtime: Pick<Runtime, 'store' | 'clock'>) {
    this.#runtime = runtime;
    this.#writtenAt = runtime.clock.now();
  }

  get isDue(): boolean {
    return this.#entries.length > 0 && this.#runtime.clock.now() - this.#writtenAt >= LEDGER_MS;
  }

  add(entry: LedgerEntry): void {
    this.#entries.push(entry);
  }

  async write(): Promise<void> {
    const entries = this.#entries;
    this.#entries = [];
    await this.#runtime.store.insert(computedWindows, entries);
    this.#writtenAt = this.#runtime.clock.now();
  }
}

const next = (schedule: Schedule, queued: ReadonlyMap<string, PlannedWindow>) =>
  queued.size < QUEUED_MAX ? schedule.take() : undefined;

/** Watches a queue until it is idle. */
class Idle {
  isAwaited = false;
  isOver = false;

  follow(idle: Promise<void>): void {
    this.isAwaited = true;
    // If the queue does not answer, the next pass of the loop asks again.
    idle.then(
      () => {
        this.isOver = true;
      },
      () => {
        this.isAwaited = false;
      },
    );
  }
}

const doneKey = (run: string) => `done/${run}`;
const outcomeKey = (run: string, id: string) => `outcome/${run}/${id}`;
const idOf = ({ metric, relays, from, until }: PlannedWindow) =>
  `${metric}/${relays.join('+')}/${from}/${until}`;
