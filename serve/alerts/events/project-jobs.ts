import type { Queue } from '../../../infra/ports.ts';

/** Work for a project. Only one process at a time does it. */
export interface ProjectTask {
  readonly project: number;
  /** Name of the event consumer, or id of the receiver. */
  readonly name: string;
}

interface ProjectJobsOptions {
  readonly queue: Pick<Queue, 'add' | 'process'>;
  /** Name of the queue. */
  readonly name: string;
  /** Concurrent tasks in this process: of all projects, and of one project. */
  readonly concurrency: number;
  readonly projectConcurrency: number;
}

interface ProjectWork {
  /** Does the next part of a task. Returns the milliseconds until the part after it; undefined if there is none. */
  readonly run: (task: ProjectTask) => Promise<number | undefined>;
  /** All tasks with open rows in the store. */
  readonly pendingTasks: () => Promise<readonly ProjectTask[]>;
  readonly onFailure: (error: unknown) => void;
}

const SWEEP_MS = 30_000;
/** Interval at which a task checks for a free slot. */
const FULL_MS = 250;
const QUICK_MS = 5000;
const QUICK_TASKS_MAX = 100_000;
/** Delay after which another process may take a job of a process that stops. */
const STOPPED_MS = 1000;

/**
 * Runs tasks of projects as jobs of the queue. Rows of the store record the work, so a job may be lost: a sweep adds it
 * again, in any process. A run does one part of a task; the next part waits behind tasks of other projects. Half of the
 * slots are reserved for tasks whose last run was quick.
 */
export class ProjectJobs {
  readonly #options: ProjectJobsOptions;
  readonly #pending = new Map<string, ProjectTask>();
  readonly #running = new Map<Promise<unknown>, ProjectTask>();
  /** Projects with tasks that found no free slot. */
  readonly #full = new Set<number>();
  /** Ids of tasks whose last run was quick and left no work for a later run. */
  readonly #quick = new Set<string>();
  #work: ProjectWork | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;
  #isAdding = false;
  #isStopped = false;
  #sweptAt = performance.now();

  constructor(options: ProjectJobsOptions) {
    this.#options = options;
  }

  start(work: ProjectWork): void {
    const { queue, name, concurrency } = this.#options;
    this.#work = work;
    queue.process<ProjectTask>(name, concurrency, (task) => this.#run(task, work)).catch(work.onFailure);
    this.#timer = setInterval(() => this.#sweep(work), SWEEP_MS).unref();
    this.#sweep(work);
  }

  /** Resolves when no task runs. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#timer);
    await this.#sweeping;
    await Promise.allSettled(this.#running.keys());
  }

  /** Milliseconds since a sweep found the tasks; at first, since the start. */
  get sinceSweepMs(): number {
    return performance.now() - this.#sweptAt;
  }

  /** Queues tasks. A task that is running then runs once more. */
  wake(tasks: Iterable<ProjectTask>): void {
    for (const task of tasks) this.#pending.set(idOf(task), task);
    this.#addPending().catch((error) => {
      // A closing queue accepts no jobs; a sweep of another process adds them.
      if (!this.#isStopped) this.#work?.onFailure(error);
    });
  }

  /** Adds jobs one by one, so while the queue is unavailable each task is in memory only once. */
  async #addPending(): Promise<void> {
    if (this.#isAdding) return;
    this.#isAdding = true;
    const { queue, name } = this.#options;
    try {
      for (const [id, task] of this.#pending) {
        this.#pending.delete(id);
        await queue.add(name, { id, data: task });
      }
    } finally {
      this.#isAdding = false;
    }
  }

  async #run(task: ProjectTask, { run, onFailure }: ProjectWork): Promise<number | undefined> {
    if (this.#isStopped) return STOPPED_MS;
    if (!this.#hasPlace(task)) {
      this.#full.add(task.project);
      return FULL_MS;
    }
    const began = performance.now();
    const running = run(task);
    this.#running.set(running, task);
    try {
      const againMs = await running;
      if (!againMs && performance.now() - began < QUICK_MS) this.#markQuick(task);
      // Lets a task that found no slot retry before this task continues.
      return againMs === 0 && this.#full.delete(task.project) ? 2 * FULL_MS : againMs;
    } catch (error) {
      onFailure(error);
      throw error;
    } finally {
      this.#running.delete(running);
      if (performance.now() - began >= QUICK_MS) this.#quick.delete(idOf(task));
    }
  }

  #markQuick(task: ProjectTask): void {
    if (this.#quick.size >= QUICK_TASKS_MAX) this.#quick.clear();
    this.#quick.add(idOf(task));
  }

  #hasPlace(task: ProjectTask): boolean {
    const { concurrency, projectConcurrency } = this.#options;
    const running = [...this.#running.values()];
    if (running.filter(({ project }) => project === task.project).length >= projectConcurrency) return false;
    const isQuick = (other: ProjectTask) => this.#quick.has(idOf(other));
    return isQuick(task) || running.filter((other) => !isQuick(other)).length < Math.max(1, concurrency / 2);
  }

  #sweep({ pendingTasks, onFailure }: ProjectWork): void {
    this.#sweeping ??= pendingTasks()
      .then((tasks) => {
        this.#sweptAt = performance.now();
        this.wake(tasks);
      })
      .catch(onFailure)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }
}

const idOf = ({ project, name }: ProjectTask): string => `${project}/${name}`;
