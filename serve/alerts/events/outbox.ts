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
  /** Due time; 0 = now. */
  readonly next_ms: number;
  readonly version: number;
}

interface OpenNotification extends Notification {
  /** Every notification of the target before this position is done. */
  readonly lowest: number;
}

/** The same for all attempts, also after a kill, so receivers recognize duplicates. */
export const deliveryIdOf = (project: number, { position, iid, name }: Notification): string =>
  `${project}-${position}-${iid}-${name}`;

/** Name of the lock that lets one process at a time send to a target. */
export const targetLock = (project: number, target: string): string => `notice/${project}/${target}`;

/** Bounds the size of an insert: a delivery may have thousands of items, and a project 20 webhooks. */
const ROWS_PER_INSERT = 10_000;

interface OutboxDependencies {
  readonly store: Store;
  readonly locks: Locks;
  readonly progress: ConsumerProgress;
  /** Jobs that send the notifications. */
  readonly jobs: ProjectJobs;
}

/** The stored notifications of webhooks and on-call links, until they are accepted or given up. */
export class Outbox {
  readonly #deps: OutboxDependencies;

  constructor(dependencies: OutboxDependencies) {
    this.#deps = dependencies;
  }

  /** Adds notifications by target. Existing notifications stay unchanged. */
  async add(project: number, changesByTarget: ReadonlyMap<string, readonly NotifiedChange[]>): Promise<void> {
    const rows = [...changesByTarget].flatMap(([target, changes]) =>
      changes.map((change) =>
        rowOf(project, target, { ...change, attempts: 0, next_ms: 0, version: 0 }, false),
      ),
    );
    for (let i = 0; i < rows.length; i += ROWS_PER_INSERT) {
      await this.#deps.store.insert(notifications, rows.slice(i, i + ROWS_PER_INSERT));
    }
    this.#deps.jobs.wake([...changesByTarget.keys()].map((name) => ({ project, name })));
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
   * The first open notification of each alert, because those of one alert are sent in order. Due notifications come
   * first, in the order of their events; then the others, by due time.
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

  /** Makes all waiting notifications due now. */
  async resetWaits(project: number, target: string): Promise<void> {
    const waiting = await this.#deps.store.rows<OpenNotification>(
      sql`SELECT * FROM ${notifications} FINAL
        WHERE project = ${project} AND target = ${target} AND NOT is_done AND next_ms > 0`,
    );
    await this.save(project, target, {
      open: waiting.map((notification) => ({ ...notification, next_ms: 0 })),
      done: [],
    });
  }

  /** Skips all earlier events for a target. Waits for a running round of the target. */
  async skipHistory(project: number, target: string): Promise<void> {
    const { locks, progress } = this.#deps;
    await locks.run(targetLock(project, target), () => progress.skipHistory(project, target));
  }

  /** Retries waiting notifications at once, after a change of the target. Waits for a running round of the target. */
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

const rowOf = (
  project: number,
  target: string,
  { position, item, name, iid, at, attempts, next_ms, version }: Notification,
  is_done: boolean,
) => ({
  ...{ project, target, position, item, name, iid, at, attempts, next_ms, is_done },
  version: version + 1,
});
