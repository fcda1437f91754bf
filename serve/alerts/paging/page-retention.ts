import { Hourly } from '../../../infra/coordination/hourly.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { pageLog, pageNotifications, pages } from '../model/oncall-tables.ts';

interface PageRetentionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly settings: { readonly RETENTION_PAGES_DAYS: number };
}

/** Pages per statement. Bounds the statement, which lists the key and version of each page. */
const PAGES_PER_STATEMENT = 2000;

const KEY = sql`concat(toString(project), '/', toString(alert), '/', policy)`;

/** Deletes pages that closed long ago, with their notifications and their log. */
export class PageRetention {
  readonly #deps: PageRetentionDependencies;
  #hourly: Hourly | undefined;

  constructor(dependencies: PageRetentionDependencies) {
    this.#deps = dependencies;
  }

  start(onFailure: (error: unknown) => void): void {
    if (this.#deps.settings.RETENTION_PAGES_DAYS === 0) return;
    this.#hourly = new Hourly(() => this.deleteOld(), onFailure);
    this.#hourly.start();
  }

  stop(): void {
    this.#hourly?.stop();
  }

  /** Returns the number of deleted pages. Rounds to whole days, so that mutations run once a day. */
  async deleteOld(): Promise<number> {
    const { clock, locks, settings } = this.#deps;
    const before = (Math.floor(clock.now() / DAY_MS) - settings.RETENTION_PAGES_DAYS) * DAY_MS;
    const deleted = await locks.tryRun('page-retention', async (lease) => {
      const old = await this.#closedBefore(before);
      for (let i = 0; i < old.length; i += PAGES_PER_STATEMENT) {
        await lease.ensure();
        await this.#delete(old.slice(i, i + PAGES_PER_STATEMENT), before);
      }
      return old.length;
    });
    return deleted ?? 0;
  }

  #closedBefore(before: number): Promise<OldPage[]> {
    return this.#deps.store.rows<OldPage>(
      sql`SELECT ${KEY} AS key, version FROM ${pages} FINAL
        WHERE state = 'closed' AND closed_ms < ${before} ORDER BY project, alert, policy`,
    );
  }

  /**
   * Deletes pages last, so a kill repeats the work. Also deletes older versions of their rows: otherwise an open version
   * would reappear. Keeps newer versions, because they are of reopened pages.
   */
  async #delete(old: readonly OldPage[], before: number): Promise<void> {
    const { store } = this.#deps;
    const keys = old.map(({ key }) => key);
    const versions = old.map(({ version }) => Number(version));
    const waiting = sql`SETTINGS mutations_sync = 1`;
    await store.run(
      sql`ALTER TABLE ${pageNotifications} DELETE WHERE created_ms < ${before} AND ${KEY} IN ${keys} ${waiting}`,
    );
    await store.run(sql`ALTER TABLE ${pageLog} DELETE WHERE at < ${before} AND ${KEY} IN ${keys} ${waiting}`);
    await store.run(
      sql`ALTER TABLE ${pages} DELETE WHERE version <= transform(${KEY}, ${keys}, ${versions}, -1) ${waiting}`,
    );
  }
}

interface OldPage {
  readonly key: string;
  readonly version: number;
}
