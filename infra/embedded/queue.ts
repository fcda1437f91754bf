import { reasonOf } from '../errors.ts';
import type { FailedJob, Job, Queue } from '../ports.ts';

interface Lane {
  waiting: Map<string, Waiting>;
  running: Map<string, { again: Waiting | undefined }>;
  delayed: Map<string, NodeJS.Timeout>;
  failed: Map<string, FailedJob>;
  handler: ((data: unknown) => Promise<void>) | undefined;
  concurrency: number;
  idle: PromiseWithResolvers<void>[];
}

interface Waiting extends Job<unknown> {
  attempts: number;
  arrived: number;
}

export interface RetryRules {
  readonly attempts: number;
  /** Wait before the second try; it doubles with each further one. */
  readonly backoffMs: number;
}

/** Jobs in process: lost with it on purpose, since what is stale is found again from the ledger. */
export class EmbeddedQueue implements Queue {
  readonly #lanes = new Map<string, Lane>();
  readonly #rules: RetryRules;
  #arrivals = 0;
  #closed = false;

  constructor(rules: RetryRules) {
    this.#rules = rules;
  }

  async add<Data>(queue: string, job: Job<Data>): Promise<void> {
    const lane = this.#lane(queue);
    const running = lane.running.get(job.id);
    const entry: Waiting = { ...job, attempts: 0, arrived: ++this.#arrivals };
    lane.failed.delete(job.id);
    // A new job takes the place of one that waits for its next try.
    clearTimeout(lane.delayed.get(job.id));
    lane.delayed.delete(job.id);
    if (running) running.again = collapsed(running.again, entry);
    else lane.waiting.set(job.id, collapsed(lane.waiting.get(job.id), entry));
    this.#pump(lane);
  }

  async process<Data>(
    queue: string,
    concurrency: number,
    handler: (data: Data) => Promise<void>,
  ): Promise<void> {
    const lane = this.#lane(queue);
    lane.handler = handler as (data: unknown) => Promise<void>;
    lane.concurrency = concurrency;
    this.#pump(lane);
  }

  idle(queue: string): Promise<void> {
    const lane = this.#lane(queue);
    if (isIdle(lane)) return Promise.resolve();
    if (this.#closed) return Promise.reject(leftBehind());
    const waiter = Promise.withResolvers<void>();
    lane.idle.push(waiter);
    return waiter.promise;
  }

  async waiting(queue: string): Promise<number> {
    const lane = this.#lane(queue);
    return lane.waiting.size + lane.delayed.size;
  }

  async failed(queue: string): Promise<FailedJob[]> {
    return [...this.#lane(queue).failed.values()];
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const lane of this.#lanes.values()) {
      for (const timer of lane.delayed.values()) clearTimeout(timer);
      if (lane.waiting.size + lane.delayed.size > 0) {
        for (const waiter of lane.idle.splice(0)) waiter.reject(leftBehind());
      }
    }
    for (const lane of this.#lanes.values()) {
      while (lane.running.size > 0) await new Promise((later) => setTimeout(later, 5));
    }
  }

  #lane(queue: string): Lane {
    let lane = this.#lanes.get(queue);
    if (!lane) {
      lane = {
        waiting: new Map(),
        running: new Map(),
        delayed: new Map(),
        failed: new Map(),
        handler: undefined,
        concurrency: 1,
        idle: [],
      };
      this.#lanes.set(queue, lane);
    }
    return lane;
  }

  #pump(lane: Lane): void {
    while (!this.#closed && lane.handler && lane.running.size < lane.concurrency && lane.waiting.size > 0) {
      const next = [...lane.waiting.values()].reduce((a, b) =>
        b.priority < a.priority || (b.priority === a.priority && b.arrived < a.arrived) ? b : a,
      );
      lane.waiting.delete(next.id);
      lane.running.set(next.id, { again: undefined });
      void this.#run(lane, next);
    }
    if (isIdle(lane)) for (const waiter of lane.idle.splice(0)) waiter.resolve();
  }

  async #run(lane: Lane, job: Waiting): Promise<void> {
    let failure: unknown;
    let failed = false;
    try {
      await lane.handler?.(job.data);
    } catch (error) {
      failed = true;
      failure = error;
    }
    const again = lane.running.get(job.id)?.again;
    lane.running.delete(job.id);
    if (again) lane.waiting.set(again.id, again);
    else if (failed) this.#retry(lane, { ...job, attempts: job.attempts + 1 }, failure);
    this.#pump(lane);
  }

  #retry(lane: Lane, job: Waiting, failure: unknown): void {
    if (job.attempts >= this.#rules.attempts) {
      lane.failed.set(job.id, { id: job.id, reason: reasonOf(failure), attempts: job.attempts });
      return;
    }
    if (this.#closed) {
      for (const waiter of lane.idle.splice(0)) waiter.reject(leftBehind());
      return;
    }
    const retry = () => {
      lane.delayed.delete(job.id);
      lane.waiting.set(job.id, job);
      this.#pump(lane);
    };
    lane.delayed.set(job.id, setTimeout(retry, this.#rules.backoffMs * 2 ** (job.attempts - 1)));
  }
}

/** The newest data win; the place in the line is the best that any of them had. */
function collapsed(earlier: Waiting | undefined, entry: Waiting): Waiting {
  if (!earlier) return entry;
  return { ...entry, arrived: earlier.arrived, priority: Math.min(earlier.priority, entry.priority) };
}

const leftBehind = () => new Error('the queue was closed while jobs were left');

function isIdle(lane: Lane): boolean {
  return lane.waiting.size === 0 && lane.running.size === 0 && lane.delayed.size === 0;
}
