import { chunkBySize } from '../../../infra/chunk.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock, Queue } from '../../../infra/ports.ts';
import { consumerLock } from '../events/event-consumers.ts';
import { ProjectJobs } from '../events/project-jobs.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Suppressor } from '../suppression/suppressor.ts';
import { type AlertPage, afterSuppressionChange, pageKey, SUPPRESSED } from './escalation.ts';
import { PAGING, type PageSteps } from './page-steps.ts';
import type { PageStore } from './page-store.ts';

interface SuppressedPagesDependencies {
  readonly clock: Clock;
  readonly queue: Queue;
  readonly locks: Locks;
  readonly store: PageStore;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly suppressor: Pick<Suppressor, 'suppressions' | 'nextChange'>;
  readonly steps: Pick<PageSteps, 'wake'>;
}

const CONCURRENCY = 4;
const PAGES_AT_ONCE = 500;
const WAIT_MS_MAX = HOUR_MS;
/** States of pages that a change of suppression can change. */
const UNACKNOWLEDGED_STATES = ['suppressed', 'waiting', 'triggered', 'exhausted'] as const;

/**
 * Suppresses pages when a silence or a maintenance window starts to match their alerts, and resumes them when none matches.
 * Runs after each change, and when a silence or window begins or ends. A sweep repeats the work of a killed process.
 */
export class SuppressedPages {
  readonly #deps: SuppressedPagesDependencies;
  readonly #jobs: ProjectJobs;

  constructor(dependencies: SuppressedPagesDependencies) {
    this.#deps = dependencies;
    this.#jobs = new ProjectJobs({
      ...{ queue: dependencies.queue, name: 'quiet-pages', concurrency: CONCURRENCY, projectConcurrency: 1 },
    });
  }

  start(onFailure: (error: unknown) => void): void {
    const run = ({ project }: { readonly project: number }) => this.run(project);
    const pendingTasks = async () => {
      const projects = await this.#deps.store.projectsIn(UNACKNOWLEDGED_STATES);
      return projects.map((project) => ({ project, name: 'quiet' }));
    };
    this.#jobs.start({ run, pendingTasks, onFailure });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  /** Called after a change of a silence or window. Changes in quick succession are handled together. */
  changed(projectId: string): void {
    this.#jobs.wake([{ project: Number(projectId), name: 'quiet' }]);
  }

  /** Returns the milliseconds until the next silence or window begins or ends. */
  async run(project: number): Promise<number | undefined> {
    const { clock, locks, suppressor, store, steps } = this.#deps;
    const next = await suppressor.nextChange(String(project), clock.now());
    const states = next === null ? (['suppressed'] as const) : UNACKNOWLEDGED_STATES;
    await locks.run(consumerLock(PAGING, project), async (lease) => {
      for (const pages of chunkBySize(await store.inStates(project, states), PAGES_AT_ONCE, () => 1)) {
        const now = clock.now();
        const changed = await this.#changedPages(project, pages, now);
        const suppressedBefore = new Set(pages.filter(({ state }) => state === 'suppressed').map(pageKey));
        const newlySuppressed = changed.filter((page) => !suppressedBefore.has(pageKey(page)));
        if (changed.length === 0) continue;
        await lease.ensure();
        await store.log(newlySuppressed.map((page) => ({ page, at: now, what: SUPPRESSED, by: '' })));
        await store.save(changed);
      }
    });
    steps.wake([project]);
    return next === null ? undefined : Math.min(Math.max(0, next - clock.now()), WAIT_MS_MAX);
  }

  /** The pages that the current silences and maintenance windows change, in their new state. */
  async #changedPages(project: number, pages: readonly AlertPage[], now: number): Promise<AlertPage[]> {
    const { reader, suppressor } = this.#deps;
    const alerts = await reader.findAll(
      project,
      pages.map(({ alert }) => alert),
    );
    const suppressions = await suppressor.suppressions(String(project), [...alerts.values()], now);
    return pages.flatMap(
      (page) => afterSuppressionChange(page, suppressions.get(page.alert) ?? null, now) ?? [],
    );
  }
}
