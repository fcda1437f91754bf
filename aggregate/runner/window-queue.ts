import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Job, Runtime, Traceparent } from '../../infra/ports.ts';
import { activeTraceparent } from '../../infra/tracing/spans.ts';
import type { MaterializedMetric } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import type { WindowComputer } from './compute-window.ts';
import { type FailureTexts, readsOf, textsOf, type WindowFailure } from './failures.ts';
import { computedWindows, type LedgerEntry } from './ledger.ts';
import { Schedule } from './schedule.ts';
import { publishVersion } from './versions.ts';

interface WindowQueueOptions {
  readonly runtime: Runtime;
  readonly metrics: readonly MaterializedMetric[];
  readonly computer: WindowComputer;
  /** Windows that this process computes at the same time; the store uses every core for each. */
  readonly concurrency: number;
  readonly onComputed: (metric: string, version: string) => void;
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
/** Entries of the ledger are written together: each write is a part that the engine has to merge. */
const LEDGER_MS = 1000;

interface QueuedWindow {
  readonly window: PlannedWindow;
  /** The round that waits for it. */
  readonly run: string;
  /** Of the round, where it is traced. */
  readonly traceparent?: Traceparent;
}

/** What came of a window: why it failed, or what the ledger has to say of it, if it had anything to compute. */
type Outcome = { readonly failure: FailureTexts } | { readonly entry: LedgerEntry | null };

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
      return { failure: textsOf(error) };
    }
  }

  /** Resolves when all windows are computed, save those of metrics that fail and of those that read them. */
  async run(
    windows: readonly PlannedWindow[],
    { queue: place, onDone, isStopped, meanwhile }: ComputeOptions,
  ): Promise<ComputedRound> {
    const { runtime, metrics } = this.#options;
    const { queue } = runtime;
    const name = QUEUES[place];
    const run = randomUUID();
    const traceparent = activeTraceparent();
    const traced = traceparent === undefined ? {} : { traceparent };
    const jobOf = (window: PlannedWindow): Job<QueuedWindow> => ({
      // Another run may wait for the same window, of another time.
      id: `${run}/${idOf(window)}`,
      data: { window, run, ...traced },
    });
    const schedule = new Schedule(windows, readsOf(metrics));
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
      // A queue that was emptied is idle too: what it has lost is queued again.
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

  /** Takes the windows that are done from those that are queued. */
  async #outcomes(run: string, queued: Map<string, PlannedWindow>): Promise<[PlannedWindow, Outcome][]> {
    const { keyValue } = this.#options.runtime;
    const outcomes: [PlannedWindow, Outcome][] = [];
    for (const id of await keyValue.members(doneKey(run))) {
      const outcome = await keyValue.take(outcomeKey(run, id));
      await keyValue.leave(doneKey(run), id);
      const window = queued.get(id);
      // An outcome that was evicted is found again by computing the window again.
      if (!window || outcome === null) continue;
      queued.delete(id);
      outcomes.push([window, JSON.parse(outcome) as Outcome]);
    }
    return outcomes;
  }
}

/** Writes what a run has computed into the ledger. */
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
const outcomeKey = (run: string, id: string) => `outcome/${run}/${id}`;
const idOf = ({ metric, relays, from, until }: PlannedWindow) =>
  `${metric}/${relays.join('+')}/${from}/${until}`;
