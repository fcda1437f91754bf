import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock } from '../../../infra/ports.ts';
import { FairSchedule, type TaskCounts, type TaskResult } from './fair-schedule.ts';

export interface ConsumerTask {
  readonly project: number;
  readonly name: string;
  /** When a task that failed may run again, if the store tells. */
  readonly notBeforeMs?: number;
}

/** Something that follows from the events of projects. */
export interface EventConsumer {
  /** The tasks that a new event of a project is for. */
  tasksOf(project: number): Promise<readonly string[]>;
  /** All tasks with something left to do, from what is stored. */
  unfinished(): Promise<readonly ConsumerTask[]>;
  /** Registers a listener that is called when a task is to run at once. */
  onTask?(listener: (task: ConsumerTask) => void): void;
  /** Carries out what is next of a task. */
  run(project: number, name: string): Promise<TaskResult>;
}

interface ConsequenceLoopOptions {
  readonly pipeline: AlertPipeline;
  readonly clock: Clock;
  readonly consumer: EventConsumer;
  /** Tasks at the same time, of all projects and of one. */
  readonly concurrency: number;
  readonly projectConcurrency: number;
  readonly onTasks?: (tasks: TaskCounts) => void;
}

const SWEEP_MS = 30_000;

/**
 * Runs the tasks of a consumer. New events only wake it: what a killed process left, here or elsewhere, is found in
 * the store at the start and by a periodic sweep.
 */
export class ConsequenceLoop {
  readonly #options: ConsequenceLoopOptions;
  readonly #onFailure: (error: unknown) => void;
  readonly #schedule: FairSchedule;
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> | undefined;

  constructor(options: ConsequenceLoopOptions, onFailure: (error: unknown) => void) {
    const { clock, consumer, concurrency, projectConcurrency, onTasks } = options;
    this.#options = options;
    this.#onFailure = onFailure;
    this.#schedule = new FairSchedule({
      clock,
      concurrency,
      projectConcurrency,
      run: (project, name) => consumer.run(project, name),
      onFailure,
      ...(onTasks ? { onTasks } : {}),
    });
  }

  start(): void {
    this.#options.consumer.onTask?.((task) => this.#schedule.wake(task));
    this.#options.pipeline.onChanged((projects) => void this.#wake(projects).catch(this.#onFailure));
    this.#timer = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    this.#sweep();
  }

  /** Resolves when nothing is under way. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#sweeping;
    await this.#schedule.stop();
  }

  async #wake(projects: ReadonlySet<number>): Promise<void> {
    for (const project of projects) {
      for (const name of await this.#options.consumer.tasksOf(project))
        this.#schedule.wake({ project, name });
    }
  }

  #sweep(): void {
    this.#sweeping ??= this.#options.consumer
      .unfinished()
      .then((tasks) => {
        for (const task of tasks) this.#schedule.wake(task);
      })
      .catch(this.#onFailure)
      .finally(() => {
        this.#sweeping = undefined;
      });
  }
}
