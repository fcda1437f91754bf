import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job, Runtime } from '../../infra/ports.ts';
import type { Traceparent } from '../../infra/tracing/tracer.ts';
import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import type { WindowComputer } from './compute-window.ts';
import { type FailureTexts, readsOf, textsOf, type WindowFailure } from './failures.ts';
import { computedWindows } from './ledger.ts';
import { Schedule } from './schedule.ts';
import { publishVersion } from './versions.ts';

interface WindowQueueOptions {
  readonly runtime: Runtime;
  readonly metrics: readonly MaterializedMetric[];
  readonly computer: WindowComputer;
  /** Windows that this process computes at the same time; the store uses every core for each. */
  readonly concurrency: number;
  readonly onComputed: (metric: string, version: string, round?: Traceparent) => void;
}

/** What came of the windows of a round. */
export interface ComputedRound {
  readonly computed: number;
  /** By metric; the windows of those that read it were left out. */
  readonly failures: ReadonlyMap<string, WindowFailure & FailureTexts>;
}

export interface ComputeOptions {
  readonly queue: keyof typeof QUEUES;
  /** Called with the number of windows that are computed or left out. */
  readonly onDone: (windows: number) => void;
  readonly isStopped: () => boolean;
  /** Called again and again while windows are computed, which goes on meanwhile. */
  readonly meanwhile?: (() => Promise<void>) | undefined;
}

export const STOPPED = 'the process stops; what is left is computed at its next start';

/** The last days have places of their own in every process: their windows do not wait for one of years. */
const QUEUES = { lastDays: 'windows-of-last-days', others: 'windows' } as const;
/** Windows of a round that wait in the queue; the others wait in the process that planned them. */
const QUEUED_MAX = 256;
const POLL_MS = 20;
/** What came of a window is remembered for longer than its round looks for it; a forgotten one is computed again. */
const OUTCOME_MS = 3_600_000;

interface QueuedWindow {
  readonly window: PlannedWindow;
  /** The round that waits for it. */
  readonly run: string;
  /** Of the round, where it is traced. */
  readonly traceparent?: Traceparent;
}

interface Outcome {
  readonly window: PlannedWindow;
  /** Null when it is computed. */
  readonly failure: FailureTexts | null;
}

/** Queues the windows of a round as jobs that any process computes. */
export class WindowQueue {
  readonly queues = Object.values(QUEUES);
  readonly #options: WindowQueueOptions;

  constructor(options: WindowQueueOptions) {
    this.#options = options;
  }

  /** Computes what is queued, in this process too. */
  async start(): Promise<void> {
    const { runtime, concurrency } = this.#options;
    for (const name of this.queues)
      await runtime.queue.process<QueuedWindow>(name, concurrency, (job) => this.#process(job));
  }

  /** Computes a window and records what came of it; a window that fails is tried again by a later round. */
  async #process({ window, run, traceparent }: QueuedWindow): Promise<void> {
    const { runtime, computer, onComputed } = this.#options;
    const { store, keyValue } = runtime;
    const id = idOf(window);
    let failure: FailureTexts | undefined;
    try {
      const entry = await computer.compute(window, traceparent);
      if (entry) {
        await store.insert(computedWindows, [entry]);
        onComputed(window.metric, String(entry.version), traceparent);
        await publishVersion(keyValue, window.metric, String(entry.version), traceparent);
      }
    } catch (error) {
      failure = textsOf(error);
    }
    if (failure) await keyValue.set(failureKey(run, id), JSON.stringify(failure), { ttlMs: OUTCOME_MS });
    await keyValue.join(doneKey(run), id, OUTCOME_MS);
  }

  /** Resolves when all windows are computed, save those of metrics that fail and of those that read them. */
  async run(
    windows: readonly PlannedWindow[],
    { queue: place, onDone, isStopped, meanwhile }: ComputeOptions,
  ): Promise<ComputedRound> {
    const { runtime, metrics } = this.#options;
    const { queue, tracer } = runtime;
    const name = QUEUES[place];
    const run = randomUUID();
    const { traceparent } = tracer.active ?? {};
    const traced = traceparent === undefined ? {} : { traceparent };
    const jobOf = (window: PlannedWindow): Job<QueuedWindow> => ({
      // Another run may wait for the same window, of another time.
      id: `${run}/${idOf(window)}`,
      data: { window, run, ...traced },
    });
    const schedule = new Schedule(windows, readsOf(metrics));
    const queued = new Map<string, PlannedWindow>();
    let computed = 0;
    let idle = new Idle();
    while (!schedule.isOver) {
      if (isStopped()) throw new Error(STOPPED);
      for (let window = next(schedule, queued); window; window = next(schedule, queued)) {
        queued.set(idOf(window), window);
        await queue.add(name, jobOf(window));
      }
      if (!idle.isAwaited) idle.follow(queue.idle(name));
      await pause(POLL_MS);
      await meanwhile?.();
      // A queue that was emptied is idle too: what it has lost is queued again.
      const wasIdle = idle.isOver;
      for (const { window, failure } of await this.#outcomes(run, queued)) {
        if (failure === null) {
          computed++;
          schedule.computed(window);
          onDone(1);
        } else onDone(1 + schedule.failed(window, failure));
      }
      if (!wasIdle) continue;
      for (const window of queued.values()) await queue.add(name, jobOf(window));
      idle = new Idle();
    }
    return { computed, failures: schedule.failures };
  }

  /** Takes the windows that are done from those that are queued. */
  async #outcomes(run: string, queued: Map<string, PlannedWindow>): Promise<Outcome[]> {
    const { keyValue } = this.#options.runtime;
    const outcomes: Outcome[] = [];
    for (const id of await keyValue.members(doneKey(run))) {
      await keyValue.leave(doneKey(run), id);
      const window = queued.get(id);
      if (!window) continue;
      queued.delete(id);
      const failure = await keyValue.take(failureKey(run, id));
      outcomes.push({ window, failure: failure === null ? null : (JSON.parse(failure) as FailureTexts) });
    }
    return outcomes;
  }
}

const next = (schedule: Schedule, queued: ReadonlyMap<string, PlannedWindow>) =>
  queued.size < QUEUED_MAX ? schedule.take() : undefined;

/** Follows whether a queue has become idle. */
class Idle {
  isAwaited = false;
  isOver = false;

  follow(idle: Promise<void>): void {
    this.isAwaited = true;
    // A queue that does not answer is asked again with the next window.
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
const failureKey = (run: string, id: string) => `failure/${run}/${id}`;
const idOf = ({ metric, relays, from, until }: PlannedWindow) =>
  `${metric}/${relays.join('+')}/${from}/${until}`;
