import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { ConsumerTask } from '../consequences/consequence-loop.ts';
import type { AlertChangeName, DecidedChange } from '../consequences/event-history.ts';
import type { ConsequenceProgress } from '../consequences/progress.ts';
import { setAsideNotifications } from '../projects/tables.ts';

/** A change of an alert that a target is to be told of. */
export interface Notification extends DecidedChange {
  readonly attempts: number;
  /** When it is due; 0 = now. */
  readonly next_ms: number;
  /** Of its row; 0 while it has none. */
  readonly version: number;
}

/** Stable over all attempts and kills, so that receivers recognize a notification that they have. */
export const deliveryIdOf = (project: number, { position, iid, name }: Notification): string =>
  `${project}-${position}-${iid}-${name}`;

interface Row extends Notification {
  readonly name: AlertChangeName;
}

/** More than a target may have. */
const ROWS_MAX = 10_000;

/** The lock under which a target is worked for, by one process at a time. */
export const targetLock = (project: number, target: string): string => `notice/${project}/${target}`;

interface SetAsideDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly progress: ConsequenceProgress;
}

/** Notifications that were not accepted, each with its own next attempt, so that they do not delay others. */
export class SetAside {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #progress: ConsequenceProgress;
  readonly #listeners: ((task: ConsumerTask) => void)[] = [];

  constructor({ store, clock, locks, progress }: SetAsideDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#locks = locks;
    this.#progress = progress;
  }

  /** Lets a target receive what happens from now on, and nothing else. A round that still sends to it ends first. */
  async beginNow(project: number, target: string): Promise<void> {
    await this.#locks.run(targetLock(project, target), async () => {
      await this.#progress.skipHistory(project, target);
      await this.save(project, target, { waiting: [], done: await this.list(project, target) });
    });
  }

  /** Registers a listener that is called when a target is to be tried again at once. */
  onRetry(listener: (task: ConsumerTask) => void): void {
    this.#listeners.push(listener);
  }

  /** Tries at once what waits for a target that its owner has changed. A round that still sends to it ends first. */
  async retryNow(project: number, target: string): Promise<void> {
    await this.#locks.run(targetLock(project, target), async () => {
      const before = await this.#progress.get(project, target);
      if (before && before.failures > 0) await this.#progress.save(before, { failures: 0, retry_ms: 0 });
      const waiting = await this.list(project, target);
      const due = waiting.map((of) => ({ ...of, attempts: 0, next_ms: 0 }));
      await this.save(project, target, { waiting: due, done: [] });
    });
    for (const listener of this.#listeners) listener({ project, name: target, notBeforeMs: 0 });
  }

  /** Of a target, in the order of the events. */
  list(project: number, target: string): Promise<Notification[]> {
    return this.#store.rows<Row>(
      sql`SELECT position, item, name, iid, at, attempts, next_ms, version FROM ${setAsideNotifications} FINAL
        WHERE project = ${project} AND target = ${target} AND NOT is_done ORDER BY position, item LIMIT ${ROWS_MAX}`,
    );
  }

  /** Targets that have some. */
  async targets(): Promise<{ readonly project: number; readonly target: string }[]> {
    return this.#store.rows(
      sql`SELECT DISTINCT project, target FROM ${setAsideNotifications} FINAL WHERE NOT is_done`,
    );
  }

  /** Stores notifications with their next attempts, and others that are done. */
  async save(
    project: number,
    target: string,
    { waiting, done }: { readonly waiting: readonly Notification[]; readonly done: readonly Notification[] },
  ): Promise<void> {
    const now = this.#clock.now();
    const row = (notification: Notification, is_done: boolean) => ({
      ...notification,
      project,
      target,
      is_done,
      version: Math.max(now, notification.version + 1),
    });
    const rows = [...waiting.map((of) => row(of, false)), ...done.map((of) => row(of, true))];
    if (rows.length > 0) await this.#store.insert(setAsideNotifications, rows);
  }
}
