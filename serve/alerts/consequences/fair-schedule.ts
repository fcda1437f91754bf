import type { Clock } from '../../../infra/ports.ts';
import { UsedTime } from './used-time.ts';

/** What a task says when it ends. */
export interface TaskResult {
  /** When it is due again; null when nothing is left to do. */
  readonly dueMs: number | null;
  /** Whether it waits for something that is broken: such tasks never get all the places. */
  readonly isFailing?: boolean;
  /** Whether it has failed and not succeeded since, also where it may run at once; as `isFailing` when absent. */
  readonly isBroken?: boolean;
}

interface WokenTask {
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
  isBroken: boolean;
  /** Whether an event arrived while it ran. */
  hasNews: boolean;
}

interface ProjectTasks {
  readonly tasks: Map<string, Task>;
  running: number;
  /** Those of them that fail or use much time. */
  costly: number;
}

interface FairScheduleOptions {
  readonly clock: Clock;
  /** Tasks that run at the same time. */
  readonly concurrency: number;
  /** The same for the tasks of one project. */
  readonly projectConcurrency: number;
  readonly run: (project: number, name: string) => Promise<TaskResult>;
  readonly onFailure: (error: unknown) => void;
  /** Called when the tasks with something left to do, or those of them that fail, became more or fewer. */
  readonly onTasks?: (tasks: TaskCounts) => void;
}

export interface TaskCounts {
  readonly waiting: number;
  readonly failing: number;
}

/** A wait that the clock may shorten is looked at again after this time. */
const LOOK_MS_MAX = 1000;
/** Wait after a task that threw. */
const FAILED_MS = 5000;
/** A task that has used more time lately is a costly one. */
const COSTLY_MS = 5000;

/**
 * Runs tasks of many projects in this process. A place goes to the project that has used the least time lately, in turns
 * where it is the same, and a task runs once at a time. Tasks that fail, and those that use much time, get at most half
 * of all places and of those of their project: no project delays another one for longer than tasks run that were new.
 */
export class FairSchedule {
  readonly #options: FairScheduleOptions;
  /** In the order of their turns. */
  readonly #projects = new Map<number, ProjectTasks>();
  readonly #running = new Set<Promise<void>>();
  /** Of projects by their numbers, and of their tasks. */
  readonly #used: UsedTime<number | string>;
  #costly = 0;
  #waiting = 0;
  #failing = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: FairScheduleOptions) {
    this.#options = options;
    this.#used = new UsedTime(options.clock.now());
  }

  /**
   * Runs a task as soon as it is its turn; not before the time that its last run named, if that failed, unless another
   * time is given.
   */
  wake({ project, name, notBeforeMs }: WokenTask): void {
    if (this.#isStopped) return;
    const now = this.#options.clock.now();
    const tasks = this.#projects.get(project) ?? { tasks: new Map<string, Task>(), running: 0, costly: 0 };
    this.#projects.set(project, tasks);
    const known = tasks.tasks.get(name);
    if (!known) this.#count(1, 0);
    const task = known ?? newTask(name);
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

  /** The first due task of the project that has used the least time. */
  #next(): [project: number, ProjectTasks, Task] | undefined {
    const now = this.#options.clock.now();
    let [least, next]: [number, [number, ProjectTasks, Task] | undefined] = [
      Number.POSITIVE_INFINITY,
      undefined,
    ];
    for (const found of this.#startable(now)) {
      const used = this.#used.of(found[0], now);
      if (found[2].dueMs <= now && used < least) [least, next] = [used, found];
    }
    return next;
  }

  /** Tasks that have a place as soon as they are due. The others get one when a task ends. */
  *#startable(now: number): Generator<[project: number, ProjectTasks, Task]> {
    const { concurrency, projectConcurrency } = this.#options;
    const hasPlace = this.#costly < Math.max(1, concurrency / 2);
    for (const [project, of] of this.#projects) {
      if (of.running >= projectConcurrency) continue;
      const hasPlaceHere = hasPlace && of.costly < Math.max(1, projectConcurrency / 2);
      for (const task of of.tasks.values()) {
        if (!task.isRunning && (hasPlaceHere || !this.#isCostly(project, task, now))) {
          yield [project, of, task];
        }
      }
    }
  }

  #isCostly(project: number, { name, isFailing }: Task, now: number): boolean {
    return isFailing || this.#used.of(`${project}/${name}`, now) > COSTLY_MS;
  }

  async #run(project: number, of: ProjectTasks, task: Task): Promise<void> {
    const { run, clock, onFailure } = this.#options;
    // The project and the task wait for their next turns behind all others.
    this.#projects.delete(project);
    this.#projects.set(project, of);
    of.tasks.delete(task.name);
    of.tasks.set(task.name, task);
    const began = clock.now();
    const costly = this.#isCostly(project, task, began) ? 1 : 0;
    task.isRunning = true;
    of.running++;
    of.costly += costly;
    this.#costly += costly;
    let result: TaskResult;
    try {
      result = await run(project, task.name);
    } catch (error) {
      onFailure(error);
      result = { dueMs: clock.now() + FAILED_MS, isFailing: true };
    }
    const tookMs = clock.now() - began;
    this.#used.add(project, tookMs);
    this.#used.add(`${project}/${task.name}`, tookMs);
    this.#costly -= costly;
    of.costly -= costly;
    of.running--;
    task.isRunning = false;
    task.isFailing = result.isFailing ?? false;
    this.#countBroken(task, result.isBroken ?? task.isFailing);
    task.notBeforeMs = task.isFailing ? (result.dueMs ?? 0) : 0;
    const againMs = task.hasNews ? Math.max(clock.now(), task.notBeforeMs) : Number.POSITIVE_INFINITY;
    task.hasNews = false;
    task.dueMs = Math.min(result.dueMs ?? Number.POSITIVE_INFINITY, againMs);
    if (task.dueMs < Number.POSITIVE_INFINITY) return;
    of.tasks.delete(task.name);
    this.#countBroken(task, false);
    this.#count(-1, 0);
    if (of.tasks.size === 0) this.#projects.delete(project);
  }

  #countBroken(task: Task, isBroken: boolean): void {
    const more = Number(isBroken) - Number(task.isBroken);
    task.isBroken = isBroken;
    if (more !== 0) this.#count(-more, more);
  }

  #count(waiting: number, failing: number): void {
    this.#waiting += waiting;
    this.#failing += failing;
    this.#options.onTasks?.({ waiting: this.#waiting, failing: this.#failing });
  }

  #setTimer(): void {
    clearTimeout(this.#timer);
    if (this.#isStopped || this.#running.size >= this.#options.concurrency) return;
    let dueMs = Number.POSITIVE_INFINITY;
    const now = this.#options.clock.now();
    for (const [, , task] of this.#startable(now)) dueMs = Math.min(dueMs, task.dueMs);
    if (dueMs === Number.POSITIVE_INFINITY) return;
    const waitMs = Math.min(LOOK_MS_MAX, Math.max(10, dueMs - now));
    this.#timer = setTimeout(() => this.#fill(), waitMs).unref();
  }
}

const newTask = (name: string): Task => ({
  name,
  dueMs: Number.POSITIVE_INFINITY,
  notBeforeMs: 0,
  isRunning: false,
  isFailing: false,
  isBroken: false,
  hasNews: false,
});
