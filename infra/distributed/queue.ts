import { randomUUID } from 'node:crypto';
import { type Job as BullJob, Queue as BullQueue, Worker } from 'bullmq';
import type { Redis } from 'ioredis';
import { reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { FailedJob, Job, Queue } from '../ports.ts';

export interface QueueOptions {
  /** A connection that waits as long as Redis is away, which BullMQ asks of its workers. */
  readonly redis: Redis;
  readonly prefix: string;
  readonly attempts: number;
  /** Wait before the second try; it doubles with each further one. */
  readonly backoffMs: number;
  /** Silence after which a job counts as left by its worker and is given to another one. */
  readonly lockMs: number;
  readonly logger: Logger;
}

interface Lane {
  readonly queue: BullQueue<Data>;
  worker: Worker<Data> | undefined;
}
type Data = { readonly id: string; readonly data: unknown };

const IDLE_POLL_MS = 20;
const WAITING_STATES = ['wait', 'prioritized', 'delayed'] as const;

/**
 * BullMQ. A job's id is its deduplication: it collapses while it waits, and is kept for one more run while it runs.
 * Finished jobs leave nothing behind; failed ones leave one field in a hash until they are added again.
 */
export class DistributedQueue implements Queue {
  readonly #options: QueueOptions;
  readonly #lanes = new Map<string, Lane>();
  #isClosed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  async add<D>(queue: string, job: Job<D>): Promise<void> {
    const { redis, prefix } = this.#options;
    const lane = this.#lane(queue);
    const data: Data = { id: job.id, data: job.data };
    const jobId = randomUUID();
    const forgotten = redis.hdel(this.#failures(queue), job.id);
    for (;;) {
      const { id } = await lane.queue.add(queue, data, {
        jobId,
        priority: job.priority,
        deduplication: { id: job.id, replace: true, keepLastIfActive: true },
      });
      // Another id is that of a job that was there before: one that runs, and then these data wait for its end, …
      if (id === undefined || id === jobId || (await redis.exists(`${prefix}:${queue}:dn:${job.id}`)) === 1)
        break;
      // … or one that waits, and gets them.
      const before = await lane.queue.getJob(id);
      if (before && (await isRenewed(before, data, job.priority))) break;
    }
    await forgotten;
  }

  async process<D>(queue: string, concurrency: number, handler: (data: D) => Promise<void>): Promise<void> {
    const lane = this.#lane(queue);
    const { redis, prefix, lockMs, logger } = this.#options;
    const worker = new Worker<Data>(queue, (job) => this.#run(queue, job, handler), {
      connection: redis,
      prefix,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs,
      // A worker that is killed again and again must not fail the job: it says nothing about it.
      maxStalledCount: 1000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) =>
      logger.warn({ queue, reason: reasonOf(error) }, 'the queue does not answer'),
    );
    worker.on('stalled', (id) =>
      logger.warn({ queue, job: id }, 'a job was left by its worker and is taken over'),
    );
    lane.worker = worker;
    await worker.waitUntilReady();
  }

  async idle(queue: string): Promise<void> {
    const lane = this.#lane(queue);
    for (;;) {
      const counts = await lane.queue.getJobCounts('active', ...WAITING_STATES);
      if (Object.values(counts).every((count) => count === 0)) return;
      if (this.#isClosed) throw new Error('the queue was closed while jobs were left');
      await new Promise((later) => setTimeout(later, IDLE_POLL_MS));
    }
  }

  async waiting(queue: string): Promise<number> {
    const counts = await this.#lane(queue).queue.getJobCounts(...WAITING_STATES);
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  async failed(queue: string): Promise<FailedJob[]> {
    const fields = await this.#options.redis.hgetall(this.#failures(queue));
    return Object.values(fields).map((text) => JSON.parse(text) as FailedJob);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const lanes = [...this.#lanes.values()];
    await Promise.all(lanes.map((lane) => lane.worker?.close()));
    // Whoever waits for idle looks once more before the connection goes.
    await new Promise((later) => setTimeout(later, 2 * IDLE_POLL_MS));
    await Promise.all(lanes.map((lane) => lane.queue.close()));
    this.#options.redis.disconnect();
  }

  async #run<D>(queue: string, job: BullJob<Data>, handler: (data: D) => Promise<void>): Promise<void> {
    const { redis, attempts, prefix } = this.#options;
    const { id, data } = job.data;
    try {
      await handler(data as D);
    } catch (error) {
      // What was added meanwhile takes the place of the next try.
      if ((await redis.exists(`${prefix}:${queue}:dn:${id}`)) === 1) return;
      if (job.attemptsMade + 1 >= attempts) {
        const failed: FailedJob = { id, reason: reasonOf(error), attempts: job.attemptsMade + 1 };
        await redis.hset(this.#failures(queue), id, JSON.stringify(failed));
      }
      throw error;
    }
  }

  #failures(queue: string): string {
    return `${this.#options.prefix}:${queue}:failures`;
  }

  #lane(name: string): Lane {
    const known = this.#lanes.get(name);
    if (known) return known;
    const { redis, prefix, attempts, backoffMs } = this.#options;
    const queue = new BullQueue<Data>(name, {
      connection: redis,
      prefix,
      defaultJobOptions: {
        attempts,
        backoff: { type: 'exponential', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: true,
      },
    });
    queue.on('error', (error) =>
      this.#options.logger.warn({ queue: name, reason: reasonOf(error) }, 'the queue does not answer'),
    );
    const lane: Lane = { queue, worker: undefined };
    this.#lanes.set(name, lane);
    return lane;
  }
}

/** Newest data and best place for a job that waits; false when it is no longer waiting and may have missed them. */
async function isRenewed(before: BullJob<Data>, data: Data, priority: number): Promise<boolean> {
  try {
    await before.updateData(data);
    if (priority < before.priority) await before.changePriority({ priority });
    return ['waiting', 'prioritized', 'delayed'].includes(await before.getState());
  } catch {
    return false;
  }
}
