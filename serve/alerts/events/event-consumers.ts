import { setTimeout as pause } from 'node:timers/promises';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import type { Queue, Store } from '../../../infra/ports.ts';
import type { ConsumerProgress } from './consumer-progress.ts';
import {
  ALERT_RETRY_MS,
  changesAfter,
  projectsWithChanges,
  type StoredAlertChange,
} from './event-history.ts';
import { ProjectJobs, type ProjectTask } from './project-jobs.ts';

/** Processes the alert events of projects, for example to create incidents. */
export interface EventConsumer {
  /** Key of its stored positions. */
  readonly name: string;
  /**
   * Processes changes of alerts. A kill may repeat them. The lease belongs to the consumer's lock. Returns false while
   * the alerts of some events are not stored yet.
   */
  apply(project: number, changes: readonly StoredAlertChange[], lease: Lease): Promise<boolean>;
}

/** Name of the lock that a consumer holds while it processes a project. */
export const consumerLock = (name: string, project: number | string): string => `${name}/${project}`;

interface EventConsumersDependencies {
  readonly store: Store;
  readonly queue: Queue;
  readonly locks: Locks;
  readonly pipeline: AlertPipeline;
  readonly projects: { numbers(): Promise<readonly number[]> };
  readonly progress: ConsumerProgress;
  readonly consumers: readonly EventConsumer[];
}

const CONCURRENCY = 8;
const EVENTS_PER_ROUND = 250;
/** Longest time that a change of settings waits for earlier events. */
const CATCH_UP_MS_MAX = 10_000;

/**
 * Passes the stored events of each project to every consumer, in order and in one process at a time, and stores the
 * consumer's position.
 */
export class EventConsumers {
  readonly #deps: EventConsumersDependencies;
  readonly #jobs: ProjectJobs;

  constructor(dependencies: EventConsumersDependencies) {
    this.#deps = dependencies;
    const { queue, consumers } = dependencies;
    this.#jobs = new ProjectJobs({
      ...{ queue, name: 'alert-events', concurrency: CONCURRENCY },
      projectConcurrency: consumers.length,
    });
  }

  start(onFailure: (error: unknown) => void): void {
    const run = ({ project, name }: ProjectTask) => this.run(project, name);
    this.#jobs.start({ run, pendingTasks: () => this.pendingTasks(), onFailure });
    this.#deps.pipeline.onChanged((projects) => this.#jobs.wake(this.#tasksOf(projects)));
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** Stores the first positions of a new project. A consumer without a position skips the existing events. */
  async begin(project: number): Promise<void> {
    for (const { name } of this.#deps.consumers) await this.#deps.progress.begin(project, name);
  }

  /** The position that all consumers of a project have passed. */
  async lowestPosition(project: number): Promise<number> {
    const rows = await this.#deps.progress.list(project);
    const positions = new Map(rows.map(({ target, position }) => [target, position]));
    return Math.min(...this.#deps.consumers.map(({ name }) => positions.get(name) ?? 0));
  }

  *#tasksOf(projects: Iterable<number>): Generator<ProjectTask> {
    for (const project of projects) {
      for (const { name } of this.#deps.consumers) yield { project, name };
    }
  }

  /** Processes the next batch of events. Returns the milliseconds until the next batch; undefined if there is none. */
  async run(project: number, name: string): Promise<number | undefined> {
    const { store, locks, progress, consumers } = this.#deps;
    const consumer = consumers.find((one) => one.name === name);
    if (consumer === undefined) return undefined;
    return locks.run(consumerLock(name, project), async (lease) => {
      // A project that is older than a consumer has no position for it, so the consumer starts with new events.
      const before = (await progress.get(project, name)) ?? (await progress.skipHistory(project, name));
      const next = await changesAfter(store, project, before.position, EVENTS_PER_ROUND);
      if (next.position === before.position) return undefined;
      const isApplied = next.changes.length === 0 || (await consumer.apply(project, next.changes, lease));
      if (!isApplied) return ALERT_RETRY_MS;
      await lease.ensure();
      await progress.save(before, { position: next.position });
      return next.isFull ? 0 : undefined;
    });
  }

  /** Processes all stored events before the settings of a project change, so that the old settings apply to them. */
  async catchUp(project: number, name: string): Promise<void> {
    await this.#deps.pipeline.waitUntilWritten();
    const deadline = performance.now() + CATCH_UP_MS_MAX;
    while (performance.now() < deadline) {
      const againMs = await this.run(project, name);
      if (againMs === undefined) return;
      await pause(againMs);
    }
  }

  async pendingTasks(): Promise<ProjectTask[]> {
    const { store, progress, projects, consumers } = this.#deps;
    const rows = await progress.list();
    const numbers = await projects.numbers();
    const tasks: ProjectTask[] = [];
    for (const { name } of consumers) {
      const own = rows.filter(({ target }) => target === name);
      const positions = new Map(own.map(({ project, position }) => [project, position]));
      const begin = numbers.filter((project) => !positions.has(project));
      const changed = await projectsWithChanges(store, positions);
      tasks.push(...[...begin, ...changed].map((project) => ({ project, name })));
    }
    return tasks;
  }
}
