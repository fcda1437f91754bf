import { reasonOf } from '../errors.ts';
import type { FailedJob, Job, JobHandler, Queue } from '../ports.ts';

interface State {
  /** Waiting jobs by id, in the order in which they will run. */
  readonly waiting: Map<string, QueuedJob>;
  readonly running: Map<string, { next: QueuedJob | undefined }>;
  /** Timers of jobs that will run again, by id. */
  readonly delayed: Map<string, NodeJS.Timeout>;
  readonly failed: Map<string, FailedJob>;
  handler: JobHandler<unknown> | undefined;
  concurrency: number;
  idle: PromiseWithResolvers<void>[];
}

interface QueuedJob extends Job<unknown> {
  readonly attempts: number;
}

interface AttemptOptions {
  readonly attempts: number;
  /** Wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
}

/** Jobs in memory. They are lost with the process; the next start plans them again from the store. */
export class EmbeddedQueue implements Queue {
  readonly #queues = new Map<string, State>();
  readonly #options: AttemptOptions;
  #isClosed = false;

  constructor(options: AttemptOptions) {
    this.#options = options;
  }

  async add<Data>(queue: string, job: Job<Data>): Promise<void> {
    const state = this.#state(queue);
    const running = state.running.get(job.id);
    const added: QueuedJob = { ...job, attempts: 0 };
    state.failed.delete(job.id);
    // The new job replaces one that waits for its next run.
    clearTimeout(state.delayed.get(job.id));
    state.delayed.delete(job.id);
    if (running) running.next = added;
    // A waiting job of the same id keeps its position.
    else state.waiting.set(job.id, added);
    this.#startJobs(state);
  }

  async process<Data>(queue: string, concurrency: number, handler: JobHandler<Data>): Promise<void> {
    const state = this.#state(queue);
    state.handler = handler as JobHandler<unknown>;
    state.concurrency = concurrency;
    this.#startJobs(state);
  }

  idle(queue: string): Promise<void> {
    const state = this.#state(queue);
    if (isIdle(state)) return Promise.resolve();
    if (this.#isClosed) return Promise.reject(closedError());
    const waiter = Promise.withResolvers<void>();
    state.idle.push(waiter);
    return waiter.promise;
  }

  async waiting(queue: string): Promise<number> {
    const state = this.#state(queue);
    return state.waiting.size + state.delayed.size;
  }

  async failed(queue: string): Promise<FailedJob[]> {
    return [...this.#state(queue).failed.values()];
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const state of this.#queues.values()) {
      for (const timer of state.delayed.values()) clearTimeout(timer);
      if (state.waiting.size + state.delayed.size > 0) {
        for (const waiter of state.idle.splice(0)) waiter.reject(closedError());
      }
    }
    for (const state of this.#queues.values()) {
      while (state.running.size > 0) await new Promise((resolve) => setTimeout(resolve, 5));
      // A running job may have been added again.
      for (const waiter of state.idle.splice(0)) waiter.reject(closedError());
    }
  }

  #state(queue: string): State {
    let state = this.#queues.get(queue);
    if (!state) {
      state = {
        waiting: new Map(),
        running: new Map(),
        delayed: new Map(),
        failed: new Map(),
        handler: undefined,
        concurrency: 1,
        idle: [],
      };
      this.#queues.set(queue, state);
    }
    return state;
  }

  #startJobs(state: State): void {
    for (const next of state.waiting.values()) {
      if (this.#isClosed || !state.handler || state.running.size >= state.concurrency) break;
      state.waiting.delete(next.id);
      state.running.set(next.id, { next: undefined });
      void this.#run(state, next);
    }
    if (isIdle(state)) for (const waiter of state.idle.splice(0)) waiter.resolve();
  }

  async #run(state: State, job: QueuedJob): Promise<void> {
    let failure: { readonly error: unknown } | undefined;
    let againMs: number | undefined;
    try {
      againMs = (await state.handler?.(job.data)) ?? undefined;
    } catch (error) {
      failure = { error };
    }
    const next = state.running.get(job.id)?.next;
    state.running.delete(job.id);
    if (next) state.waiting.set(next.id, next);
    else if (failure) this.#retry(state, { ...job, attempts: job.attempts + 1 }, failure.error);
    else if (againMs !== undefined) this.#delay(state, job, againMs);
    this.#startJobs(state);
  }

  #retry(state: State, job: QueuedJob, error: unknown): void {
    const { attempts, backoffMs } = this.#options;
    if (job.attempts >= attempts) {
      state.failed.set(job.id, { id: job.id, reason: reasonOf(error), attempts: job.attempts });
      return;
    }
    this.#delay(state, job, backoffMs * 2 ** (job.attempts - 1));
  }

  #delay(state: State, job: QueuedJob, ms: number): void {
    if (this.#isClosed) {
      for (const waiter of state.idle.splice(0)) waiter.reject(closedError());
      return;
    }
    const runAgain = () => {
      state.delayed.delete(job.id);
      state.waiting.set(job.id, job);
      this.#startJobs(state);
    };
    state.delayed.set(job.id, setTimeout(runAgain, ms));
  }
}

const closedError = () => new Error('the queue was closed while jobs were left');

function isIdle(state: State): boolean {
  return state.waiting.size === 0 && state.running.size === 0 && state.delayed.size === 0;
}
