import { alertEvents, deletedEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { Hourly } from '../../../infra/coordination/hourly.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { DAY_MS } from '../../../infra/days.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { EventConsumers } from './event-consumers.ts';

interface EventRetentionDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly pipeline: AlertPipeline;
  readonly eventConsumers: EventConsumers;
  /** Days that events are kept; 0 for ever. */
  readonly days: number;
}

/** Deletes old events that all consumers have processed. */
export class EventRetention {
  readonly #deps: EventRetentionDependencies;
  #hourly: Hourly | undefined;

  constructor(dependencies: EventRetentionDependencies) {
    this.#deps = dependencies;
  }

  start(onDeleted: (events: number) => void, onFailure: (error: unknown) => void): void {
    if (this.#deps.days === 0) return;
    this.#hourly = new Hourly(() => this.deleteOld().then(onDeleted), onFailure);
    this.#hourly.start();
  }

  stop(): void {
    this.#hourly?.stop();
  }

  /** Returns how many events were deleted. */
  async deleteOld(): Promise<number> {
    const { clock, locks, pipeline, eventConsumers, days } = this.#deps;
    const before = (Math.floor(clock.now() / DAY_MS) - days) * DAY_MS;
    const deleted = await locks.tryRun('alert-event-retention', async (lease) => {
      let total = 0;
      for (const project of await this.#projectsWithOld(before)) {
        await lease.ensure();
        const until = await eventConsumers.lowestPosition(project);
        if (until > 0) total += await pipeline.deleteEvents({ project, before, until });
      }
      return total;
    });
    return deleted ?? 0;
  }

  /** Projects with old events whose deletion up to that time is not recorded; some old events always stay. */
  async #projectsWithOld(before: number): Promise<number[]> {
    const rows = await this.#deps.store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${alertEvents} WHERE at < ${before}
        AND project NOT IN (SELECT project FROM ${deletedEvents} WHERE before_ms >= ${before}) ORDER BY project`,
    );
    return rows.map(({ project }) => project);
  }
}
