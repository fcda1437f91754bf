import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { notifications } from '../model/tables.ts';
import type { ConsumerProgress } from './consumer-progress.ts';
import type { NotifiedChange } from './event-history.ts';
import type { ProjectJobs } from './project-jobs.ts';

/** A change of an alert that a target is notified of. */
export interface Notification extends Omit<NotifiedChange, 'by'> {
  readonly attempts: number;
  /** When it is due; 0 = now. */
  readonly next_ms: number;
  readonly version: number;
}

interface OpenNotification extends Notification {
  /** Every notification of the target before this position is done. */
  readonly lowest: number;
}

/** Stable over all attempts and kills, so that receivers recognize a notification that they have. */
export const deliveryIdOf = (project: number, { position, iid, name }: Notification): string =>
  `${project}-${position}-${iid}-${name}`;

/** The lock under which a target is worked for, by one process at a time. */
export const targetLock = (project: number, target: string): string => `notice/${project}/${target}`;

/** A delivery may have thousands of items, and a project 20 webhooks. */
const ROWS_PER_INSERT = 10_000;

interface OutboxDependencies {
  readonly store: Store;
  readonly locks: Locks;
  readonly progress: ConsumerProgress;
  /** Those that send what is due. */
  readonly jobs: ProjectJobs;
}

/** The stored notifications of webhooks and on-call links, until they are accepted or given up. */
export class Outbox {
  readonly #deps: OutboxDependencies;

  constructor(dependencies: OutboxDependencies) {
    this.#deps = dependencies;
  }

  /** Adds notifications for the changes that targets are told of; those that it has stay as they are. */
  async add(project: number, told: ReadonlyMap<string, readonly NotifiedChange[]>): Promise<void> {
    const rows = [...told].flatMap(([target, changes]) =>
      changes.map((change) =>
        rowOf(project, target, { ...change, attempts: 0, next_ms: 0, version: 0 }, false),
      ),
    );
    for (let i = 0; i < rows.length; i += ROWS_PER_INSERT) {
      await this.#deps.store.insert(notifications, rows.slice(i, i + ROWS_PER_INSERT));
    }
    this.#deps.jobs.wake([...told.keys()].map((name) => ({ project, name })));
  }

  /** Stores changed notifications. */
  async save(
    project: number,
    target: string,
    { open, done }: { readonly open: readonly Notification[]; readonly done: readonly Notification[] },
  ): Promise<void> {
    const rows = [
      ...open.map((notification) => rowOf(project, target, notification, false)),
      ...done.map((notification) => rowOf(project, target, notification, true)),
    ];
    if (rows.length > 0) await this.#deps.store.insert(notifications, rows);
  }

  /**
   * The first open notification of each alert, since the next one is sent after it: those that are due in the order of
   * their events, then the others in the order in which they become due.
   */
  next(
    project: number,
    target: string,
    after: number,
    now: number,
    limit: number,
  ): Promise<OpenNotification[]> {
    return this.#deps.store.rows<OpenNotification>(
      sql`SELECT *, min(position) OVER () AS lowest FROM (
          SELECT position, item, name, iid, at, attempts, next_ms, version FROM ${notifications} FINAL
          WHERE project = ${project} AND target = ${target} AND position > ${after} AND NOT is_done
          ORDER BY position, item LIMIT 1 BY iid)
        ORDER BY if(next_ms > ${now}, next_ms, 0), position, item LIMIT ${limit}`,
    );
  }

  /** Targets with open notifications, and the position of their newest one. */
  targets(): Promise<{ readonly project: number; readonly target: string; readonly newest: number }[]> {
    return this.#deps.store.rows(
      sql`SELECT project, target, max(position) AS newest FROM ${notifications} FINAL
        WHERE NOT is_done GROUP BY project, target`,
    );
  }

  /** Makes what waits for its next attempt due. */
  async resetWaits(project: number, target: string): Promise<void> {
    const waiting = await this.#deps.store.rows<OpenNotification>(
      sql`SELECT * FROM ${notifications} FINAL
        WHERE project = ${project} AND target = ${target} AND NOT is_done AND next_ms > 0`,
    );
    await this.save(project, target, { open: waiting.map((of) => ({ ...of, next_ms: 0 })), done: [] });
  }

  /** Lets a target receive what happens from now on, and nothing else. A round that still sends to it ends first. */
  async skipHistory(project: number, target: string): Promise<void> {
    const { locks, progress } = this.#deps;
    await locks.run(targetLock(project, target), () => progress.skipHistory(project, target));
  }

  /** Tries at once what waits for a target that its owner has changed. A round that still sends to it ends first. */
  async retryNow(project: number, target: string): Promise<void> {
    const { locks, progress, jobs } = this.#deps;
    await locks.run(targetLock(project, target), async () => {
      const before = await progress.get(project, target);
      if (before && before.failures > 0) await progress.save(before, { failures: 0, retry_ms: 0 });
      await this.resetWaits(project, target);
    });
    jobs.wake([{ project, name: target }]);
  }
}

/** The next row of a notification. */
const rowOf = (
  project: number,
  target: string,
  { position, item, name, iid, at, attempts, next_ms, version }: Notification,
  is_done: boolean,
) => ({
  ...{ project, target, position, item, name, iid, at, attempts, next_ms, is_done },
  version: version + 1,
});
