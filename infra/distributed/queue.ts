import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { type Job as BullJob, Queue as BullQueue, DelayedError, Worker } from 'bullmq';
import { closeAll } from '../close-all.ts';
import { CircuitBreaker } from '../coordination/circuit-breaker.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { reasonOf } from '../errors.ts';
import { ignore, markHandled } from '../ignore.ts';
import type { Logger } from '../logger.ts';
import type { FailedJob, Job, JobHandler, Queue } from '../ports.ts';
import type { RedisClient } from './redis.ts';

interface QueueOptions {
  /** A connection that retries without a limit, as BullMQ workers need it. */
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly attempts: number;
  /** Wait before the second attempt; it doubles with each further one. */
  readonly backoffMs: number;
  /** Time without a heartbeat of a worker, after which another worker gets its job. */
  readonly lockMs: number;
  /** Time limit of a query about jobs. */
  readonly answerMs: number;
  readonly logger: Logger;
}

interface OpenQueue {
  readonly bull: BullQueue<Data>;
  worker: Worker<Data> | undefined;
  /** Number of running handlers. */
  running: number;
}
type Data = { readonly id: string; readonly data: unknown };

const IDLE_POLL_MS = 20;
const WAITING_STATES = ['wait', 'delayed'] as const;

/**
 * The queue on BullMQ. The id of a job is its deduplication id: a job replaces a waiting job with the same id, and runs
 * after a running one. Finished jobs are deleted. A failed job leaves a field in a hash until it is added again.
 */
export class DistributedQueue implements Queue {
  readonly #options: QueueOptions;
  readonly #queues = new Map<string, OpenQueue>();
  readonly #breaker = new CircuitBreaker('Redis');
  #isClosed = false;

  constructor(options: QueueOptions) {
    this.#options = options;
  }

  async add<D>(queue: string, job: Job<D>): Promise<void> {
    // The connection keeps the order of both commands. Both are awaited even if one fails.
    const forgotten = this.#options.redis.hdel(this.#failures(queue), job.id);
    await Promise.all([forgotten, this.#put(queue, job)]);
  }

  async #put<D>(queue: string, job: Job<D>): Promise<void> {
    const { bull } = this.#open(queue);
    const data: Data = { id: job.id, data: job.data };
    const jobId = randomUUID();
    for (;;) {
      const { id } = await bull.add(queue, data, {
        jobId,
        deduplication: { id: job.id, replace: true, keepLastIfActive: true },
      });
      // Another id is that of an earlier job. If the earlier job runs, BullMQ keeps the new data until that job ends.
      if (id === undefined || id === jobId || (await this.#isAdded(queue, job.id))) return;
      // If the earlier job waits, it gets the new data.
      const earlier = await bull.getJob(id);
      if (earlier && (await isUpdated(earlier, data))) return;
    }
  }

  async process<D>(queue: string, concurrency: number, handler: JobHandler<D>): Promise<void> {
    const opened = this.#open(queue);
    const { redis, prefix, lockMs, logger } = this.#options;
    const worker = new Worker<Data>(queue, (job, token) => this.#run(queue, job, handler, token), {
      connection: redis,
      prefix,
      concurrency,
      lockDuration: lockMs,
      stalledInterval: lockMs,
      // A job does not fail because its workers are killed.
      maxStalledCount: 1000,
      removeOnComplete: { count: 0 },
      removeOnFail: { count: 0 },
    });
    worker.on('error', (error) =>
      logger.warn({ queue, reason: reasonOf(error) }, 'the queue does not answer'),
    );
    worker.on('stalled', (id) => logger.warn({ queue, job: id }, 'another worker takes over a stalled job'));
    opened.worker = worker;
    await worker.waitUntilReady();
  }

  async idle(queue: string): Promise<void> {
    const { bull } = this.#open(queue);
    for (;;) {
      const counts = await bull.getJobCounts('active', ...WAITING_STATES);
      if (Object.values(counts).every((count) => count === 0)) return;
      if (this.#isClosed) throw new Error('the queue was closed while jobs were left');
      await setTimeout(IDLE_POLL_MS);
    }
  }

  async waiting(queue: string): Promise<number> {
    const counts = await this.#ask(() => this.#open(queue).bull.getJobCounts(...WAITING_STATES));
    return Object.values(counts).reduce((sum, count) => sum + count, 0);
  }

  async failed(queue: string): Promise<FailedJob[]> {
    const fields = await this.#ask(() => this.#options.redis.hgetall(this.#failures(queue)));
    return Object.values(fields).map((text) => JSON.parse(text) as FailedJob);
  }

  /** Waits for running jobs, but not for Redis if it is down. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const opened = [...this.#queues.values()];
    await closeAll(
      () => opened.map((queue) => this.#closeWorker(queue)),
      // Callers of `idle` poll once more before the connection is closed.
      () => [setTimeout(2 * IDLE_POLL_MS)],
      () => opened.map(({ bull }) => withTimeout(this.#options.answerMs, bull.close())),
    ).finally(() => this.#options.redis.disconnect());
  }

  async #closeWorker(queue: OpenQueue): Promise<void> {
    const { worker } = queue;
    if (!worker) return;
    const closed = markHandled(worker.close());
    for (;;) {
      while (queue.running > 0) await setTimeout(IDLE_POLL_MS);
      try {
        return await withTimeout(this.#options.answerMs, closed);
      } catch (error) {
        // A job may have started in the meantime.
        if (queue.running > 0) continue;
        // Redis did not answer. The failure of `close` is thrown, not one of `disconnect`.
        worker.disconnect().catch(ignore('queue.disconnect'));
        throw error;
      }
    }
  }

  /** Limits the time of a query about jobs; only jobs themselves wait for Redis without a limit. */
  #ask<T>(question: () => Promise<T>): Promise<T> {
    return this.#breaker.run(() => withTimeout(this.#options.answerMs, question()));
  }

  async #run<D>(
    queue: string,
    job: BullJob<Data>,
    handler: JobHandler<D>,
    token: string | undefined,
  ): Promise<void> {
    const { redis, attempts } = this.#options;
    const { id, data } = job.data;
    const opened = this.#open(queue);
    opened.running++;
    let againMs: number | undefined;
    try {
      againMs = (await handler(data as D).finally(() => void opened.running--)) ?? undefined;
    } catch (error) {
      // A job that was added meanwhile replaces the next attempt.
      if (await this.#isAdded(queue, id)) return;
      if (job.attemptsMade + 1 >= attempts) {
        const failed: FailedJob = { id, reason: reasonOf(error), attempts: job.attemptsMade + 1 };
        await redis.hset(this.#failures(queue), id, JSON.stringify(failed));
      }
      throw error;
    }
    if (againMs === undefined || (await this.#isAdded(queue, id))) return;
    await job.moveToDelayed(Date.now() + againMs, token);
    // Another caller added the job just before it was delayed. If promoting it fails, it runs after the delay.
    if (await this.#isAdded(queue, id)) await job.promote().catch(ignore('queue.promote'));
    throw new DelayedError();
  }

  /** Whether a job was added while a job with the same id runs. BullMQ then runs it next. */
  async #isAdded(queue: string, id: string): Promise<boolean> {
    const { redis, prefix } = this.#options;
    return (await redis.exists(`${prefix}:${queue}:dn:${id}`)) === 1;
  }

  #failures(queue: string): string {
    return `${this.#options.prefix}:${queue}:failures`;
  }

  #open(name: string): OpenQueue {
    const known = this.#queues.get(name);
    if (known) return known;
    const { redis, prefix, attempts, backoffMs } = this.#options;
    const bull = new BullQueue<Data>(name, {
      connection: redis,
      prefix,
      defaultJobOptions: {
        attempts,
        backoff: { type: 'exponential', delay: backoffMs },
        removeOnComplete: true,
        removeOnFail: true,
      },
    });
    bull.on('error', (error) =>
      this.#options.logger.warn({ queue: name, reason: reasonOf(error) }, 'the queue does not answer'),
    );
    const opened: OpenQueue = { bull, worker: undefined, running: 0 };
    this.#queues.set(name, opened);
    return opened;
  }
}

/** Updates the data of a waiting job; false if it may have started with the old data. */
async function isUpdated(earlier: BullJob<Data>, data: Data): Promise<boolean> {
  try {
    await earlier.updateData(data);
    return ['waiting', 'delayed'].includes(await earlier.getState());
  } catch (error) {
    // The job has ended meanwhile; the caller adds another one.
    return ignore('queue.update', false)(error);
  }
}
