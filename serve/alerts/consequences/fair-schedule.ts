import type { Clock } from '../../../infra/ports.ts';

/** What a task says when it ends. */
export interface TaskResult {
  /** When it is due again; null when nothing is left to do. */
  readonly dueMs: number | null;
  /** Whether it waits for something that is broken: such tasks never get all the places. */
  readonly isFailing?: boolean;
}

export interface WokenTask {
  readonly project: number;
  readonly name: string;
  readonly notBeforeMs?: number;
}

interface Task {
  readonly name: string;
  dueMs: number;
  /** An earlier wake-up does not count before it. */
  notBeforeMs: number;
  isRunning: boolean;
  isFailing: boolean;
  /** Whether an event arrived while it ran. */
  hasNews: boolean;
}

interface ProjectTasks {
  readonly tasks: Map<string, Task>;
  running: number;
}

export interface FairScheduleOptions {
  readonly clock: Clock;
  /** Tasks that run at the same time. */
  readonly concurrency: number;
  /** The same for the tasks of one project. */
  readonly projectConcurrency: number;
  readonly run: (project: number, name: string) => Promise<TaskResult>;
  readonly onFailure: (error: unknown) => void;
}

/** A wait that the clock may shorten is looked at again after this time. */
const LOOK_MS_MAX = 1000;
/** Wait after a task that threw. */
const FAILED_MS = 5000;

/**
 * Runs tasks of many projects in this process. Projects take turns, a task runs once at a time, and tasks that fail
 * get at most half of the places, so that no project delays another one.
 */
export class FairSchedule {
  readonly #options: FairScheduleOptions;
  /** In the order of their turns. */
  readonly #projects = new Map<number, ProjectTasks>();
  readonly #running = new Set<Promise<void>>();
  #failing = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: FairScheduleOptions) {
    this.#options = options;
  }

  /**
   * Runs a task as soon as it is its turn; not before the time that its last run named, if that failed, unless another
   * time is given.
   */
  wake({ project, name, notBeforeMs }: WokenTask): void {
    if (this.#isStopped) return;
    const now = this.#options.clock.now();
    const tasks = this.#projects.get(project) ?? { tasks: new Map<string, Task>(), running: 0 };
    this.#projects.set(project, tasks);
    const task = tasks.tasks.get(name) ?? newTask(name);
    tasks.tasks.set(name, task);
    task.hasNews = task.isRunning;
    task.notBeforeMs = notBeforeMs ?? task.notBeforeMs;
    task.dueMs = Math.min(task.dueMs, Math.max(now, task.notBeforeMs));
    this.#fill();
  }

  /** Starts no more tasks; resolves when those that run have ended. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await Promise.all(this.#running);
  }

  #fill(): void {
    while (!this.#isStopped && this.#running.size < this.#options.concurrency) {
      const next = this.#next();
      if (next === undefined) break;
      const running = this.#run(...next).finally(() => {
        this.#running.delete(running);
        this.#fill();
      });
      this.#running.add(running);
    }
    this.#setTimer();
  }

  /** The first due task of the project whose turn it is. */
  #next(): [project: number, ProjectTasks, Task] | undefined {
    const now = this.#options.clock.now();
    for (const found of this.#startable()) if (found[2].dueMs <= now) return found;
    return undefined;
  }

  /** Tasks that have a place as soon as they are due. The others get one when a task ends. */
  *#startable(): Generator<[project: number, ProjectTasks, Task]> {
    const { concurrency, projectConcurrency } = this.#options;
    const hasPlaceForFailing = this.#failing < Math.max(1, concurrency / 2);
    for (const [project, of] of this.#projects) {
      if (of.running >= projectConcurrency) continue;
      for (const task of of.tasks.values()) {
        if (!task.isRunning && (!task.isFailing || hasPlaceForFailing)) yield [project, of, task];
      }
    }
  }

  async #run(project: number, of: ProjectTasks, task: Task): Promise<void> {
    const { run, clock, onFailure } = this.#options;
    // The project and the task wait for their next turns behind all others.
    this.#projects.delete(project);
    this.#projects.set(project, of);
    of.tasks.delete(task.name);
    of.tasks.set(task.name, task);
    const wasFailing = task.isFailing;
    task.isRunning = true;
    of.running++;
    if (wasFailing) this.#failing++;
    let result: TaskResult;
    try {
      result = await run(project, task.name);
    } catch (error) {
      onFailure(error);
      result = { dueMs: clock.now() + FAILED_MS, isFailing: true };
    }
    if (wasFailing) this.#failing--;
    of.running--;
    task.isRunning = false;
    task.isFailing = result.isFailing ?? false;
    task.notBeforeMs = task.isFailing ? (result.dueMs ?? 0) : 0;
    const againMs = task.hasNews ? Math.max(clock.now(), task.notBeforeMs) : Number.POSITIVE_INFINITY;
    task.hasNews = false;
    task.dueMs = Math.min(result.dueMs ?? Number.POSITIVE_INFINITY, againMs);
    if (task.dueMs < Number.POSITIVE_INFINITY) return;
    of.tasks.delete(task.name);
    if (of.tasks.size === 0) this.#projects.delete(project);
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#running.size >= this.#options.concurrency) return;
    let dueMs = Number.POSITIVE_INFINITY;
    for (const [, , task] of this.#startable()) dueMs = Math.min(dueMs, task.dueMs);
    if (dueMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(LOOK_MS_MAX, Math.max(10, dueMs - this.#options.clock.now()));
    this.#timer = setTimeout(() => this.#fill(), waitMs).unref();
  }
}

const newTask = (name: string): Task => ({
  name,
  dueMs: Number.POSITIVE_INFINITY,
  notBeforeMs: 0,
  isRunning: false,
  isFailing: false,
  hasNews: false,
});
