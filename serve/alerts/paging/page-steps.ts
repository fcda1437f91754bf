import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Queue } from '../../../infra/ports.ts';
import type { ConsumerProgress } from '../events/consumer-progress.ts';
import { consumerLock } from '../events/event-consumers.ts';
import { ProjectJobs } from '../events/project-jobs.ts';
import { RequestRefused } from '../model/access.ts';
import type { Policies, Policy } from '../oncall/policies.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Projects } from '../projects/projects.ts';
import type { Suppressor } from '../suppression/suppressor.ts';
import {
  type Advance,
  type AlertPage,
  advance,
  isCalling,
  pageKey,
  reachOf,
  reachOfAll,
} from './escalation.ts';
import type { PageDeliveries } from './page-deliveries.ts';
import { countUnreached, type PageMetrics } from './page-metrics.ts';
import { newNotification } from './page-notification.ts';
import type { PageNotification } from './page-reader.ts';
import type { PageStore } from './page-store.ts';
import { type Recipient, Recipients, type RecipientsDependencies } from './recipients.ts';

/** Name of the event consumer. It shares the lock `paging/PROJECT` with the steps of pages. */
export const PAGING = 'paging';
const CONCURRENCY = 8;
const PAGES_PER_ROUND = 500;
/** Interval at which a page is checked again while the pager lags behind its alert. */
const BEHIND_MS = 1000;
/**
 * If a destination accepted a message within this time, a new call to it may still wait to be bundled. A step with such a
 * call does not count as unreached yet.
 */
const BUNDLE_WAIT_MS = 15 * 60_000;
/** Destination id of PAGE_FALLBACK_EMAIL, which is notified along with the Owners and Maintainers. */
export const FALLBACK = 'fallback';

interface StepSettings {
  readonly PAGE_UNREACHED_SECONDS: number;
  readonly PAGE_FALLBACK_EMAIL?: string | undefined;
}

interface PageStepsDependencies {
  readonly clock: Clock;
  readonly queue: Queue;
  readonly locks: Locks;
  readonly store: PageStore;
  readonly pipeline: AlertPipeline;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly progress: Pick<ConsumerProgress, 'get'>;
  readonly projects: Pick<Projects, 'find'>;
  readonly policies: Pick<Policies, 'findAll'>;
  readonly suppressor: Pick<Suppressor, 'suppressions'>;
  readonly recipients: RecipientsDependencies;
  readonly deliveries: Pick<PageDeliveries, 'wake'>;
  readonly metrics: PageMetrics;
  readonly settings: StepSettings;
}

/**
 * Runs steps, reminders and timeouts of acknowledgements when they are due. Work that fell due during downtime runs once.
 *
 * Notifications are stored before the pages, so a kill between the two repeats the step under the same ids.
 */
export class PageSteps {
  readonly #deps: PageStepsDependencies;
  readonly #jobs: ProjectJobs;

  constructor(dependencies: PageStepsDependencies) {
    this.#deps = dependencies;
    this.#jobs = new ProjectJobs({
      ...{ queue: dependencies.queue, name: 'page-steps', concurrency: CONCURRENCY, projectConcurrency: 1 },
    });
  }

  start(onFailure: (error: unknown) => void): void {
    const pendingTasks = async () => {
      const projects = await this.#deps.store.projectsWithDue(this.#deps.clock.now());
      return projects.map((project) => ({ project, name: 'steps' }));
    };
    this.#jobs.start({ run: ({ project }) => this.run(project), pendingTasks, onFailure });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  get sinceSweepMs(): number {
    return this.#jobs.sinceSweepMs;
  }

  /** Checks the due pages of projects at once. */
  wake(projects: readonly number[]): void {
    this.#jobs.wake(projects.map((project) => ({ project, name: 'steps' })));
  }

  /** Advances the due pages of a project. Returns the milliseconds until the next page is due. */
  run(project: number): Promise<number | undefined> {
    const { clock, locks, store } = this.#deps;
    return locks.run(consumerLock(PAGING, project), async (lease) => {
      const now = clock.now();
      const due = await store.due(project, now, PAGES_PER_ROUND);
      if (due.length > 0) await this.#carryOut(project, due, { now, lease });
      const next = await store.nextDue(project);
      return next === 0 ? undefined : Math.max(0, next - clock.now());
    });
  }

  /** Carries out the next step of the pages of alerts at once. */
  async escalate(project: number, alerts: readonly number[], by: string): Promise<void> {
    const { clock, locks, store, reader, suppressor } = this.#deps;
    await locks.run(consumerLock(PAGING, project), async (lease) => {
      const now = clock.now();
      const found = await reader.findAll(project, alerts);
      const suppressions = await suppressor.suppressions(String(project), [...found.values()], now);
      const pages = (await store.ofAlerts(project, alerts)).filter(
        (page) => isCalling(page) && !suppressions.has(page.alert),
      );
      if (pages.length === 0)
        throw new RequestRefused(
          'conflict',
          'Nobody is being paged for this alert, so there is no next step.',
        );
      await store.log(pages.map((page) => ({ page, at: now, what: 'escalated', by })));
      await this.#carryOut(project, pages, { now, lease, isForced: true });
    });
    this.wake([project]);
  }

  async #carryOut(
    project: number,
    due: readonly AlertPage[],
    { now, lease, isForced = false }: { now: number; lease: Lease; isForced?: boolean },
  ): Promise<void> {
    const { store, reader, deliveries, settings, metrics } = this.#deps;
    const alerts = await reader.findAll(
      project,
      due.map(({ alert }) => alert),
    );
    const calls = Map.groupBy(await store.callsOf(project, due, now - BUNDLE_WAIT_MS), pageKey);
    const policies = await this.#policiesOf(project, due);
    const suppressions = await this.#deps.suppressor.suppressions(String(project), [...alerts.values()], now);
    const recipients = new Recipients(this.#deps.recipients, String(project), now);
    const batch = new StepBatch(now, this.#deps.settings);
    for (const page of due) {
      const policy = policies.get(page.policy);
      if (policy === undefined) {
        batch.close(page, 'its policy or project is gone');
        continue;
      }
      const ended = await this.#endOf(page, alerts.get(page.alert));
      if (ended !== null) {
        if (ended === 'behind') batch.put({ ...page, next_ms: now + BEHIND_MS });
        else batch.close(page, ended);
        continue;
      }
      const ofPage = calls.get(pageKey(page)) ?? [];
      const reached = reachedBy(page, ofPage, {
        now,
        unreachedMs: settings.PAGE_UNREACHED_SECONDS * 1000,
      });
      const suppression = suppressions.get(page.alert) ?? null;
      const result = advance(page, { ...reached, policy, suppression, now, isForced });
      countUnreached(metrics, page, result, ofPage);
      const step = policy.steps[result.page.step - 1];
      const called = result.carriesOut && step !== undefined ? await recipients.ofStep(step) : [];
      if (result.carriesOut && called.length === 0) metrics.unreachedSteps.inc({ reason: 'nobody' });
      const maintainers = result.exhaustion === '' ? [] : await recipients.ofMaintainers();
      batch.add(result, { called, maintainers });
    }
    const unconfirmed = await this.#setBack(batch.toSetBack);
    await lease.ensure();
    await store.add(batch.notifications);
    await store.log(batch.entries.filter(({ page }) => !unconfirmed.has(page)));
    const unconfirmedKeys = new Set([...unconfirmed].map(pageKey));
    const retried = due.filter((page) => unconfirmedKeys.has(pageKey(page)));
    await store.save([
      ...batch.pages.filter((page) => !unconfirmed.has(page)),
      ...retried.map((page) => ({ ...page, next_ms: now + BEHIND_MS })),
    ]);
    deliveries.wake(batch.notifications);
  }

  /**
   * Sets the alerts of pages back to triggered. Returns the pages for which this is not confirmed; they are checked again.
   * If an alert is no longer acknowledged, the event that changed it also changes the page.
   */
  async #setBack(pages: readonly AlertPage[]): Promise<ReadonlySet<AlertPage>> {
    const change = { status: 'triggered' as const };
    const results = await Promise.allSettled(
      pages.map(({ project, alert }) =>
        this.#deps.pipeline.applyAction({
          ...{ project, iid: alert, by: '', change, expected: 'acknowledged' as const },
        }),
      ),
    );
    const isDone = (i: number) => {
      const result = results[i];
      return result?.status === 'fulfilled' && result.value.outcomes[0] === 'changed';
    };
    return new Set(pages.filter((_, i) => !isDone(i)));
  }

  /** Empty if the project was deleted. */
  async #policiesOf(project: number, due: readonly AlertPage[]): Promise<ReadonlyMap<string, Policy>> {
    const { projects, policies } = this.#deps;
    if ((await projects.find(String(project))) === null) return new Map();
    return policies.findAll(
      String(project),
      due.map(({ policy }) => policy),
    );
  }

  /**
   * Returns null if the alert has the status that the page expects. If not, the pager may still have to apply an event of
   * the alert: returns `behind`. If no event is left, returns the reason to close the page. A replay causes this case,
   * because it changes alerts without adding events.
   */
  async #endOf(page: AlertPage, alert: Alert | undefined): Promise<string | null> {
    if (alert === undefined) return 'the alert is gone';
    const expected = page.state === 'acknowledged' ? 'acknowledged' : 'triggered';
    if (alert.status === expected) return null;
    const { position = 0 } = (await this.#deps.progress.get(page.project, PAGING)) ?? {};
    return position < alert.position ? 'behind' : `the alert is ${alert.status}`;
  }
}

/** The reach of the current step, cycle and round of a page. */
function reachedBy(
  page: AlertPage,
  calls: Awaited<ReturnType<PageStore['callsOf']>>,
  { now, unreachedMs }: { readonly now: number; readonly unreachedMs: number },
) {
  const round = calls.filter((call) => call.round === page.round);
  const steps = Map.groupBy(
    round.filter(({ cycle }) => cycle === page.cycle),
    ({ step }) => step,
  );
  const reaches = [...steps.values()].map((stepCalls) => reachOf(stepCalls, now, unreachedMs));
  return {
    reach: reachOf(steps.get(page.step) ?? [], now, unreachedMs),
    cycleReach: reachOfAll(reaches),
    isRoundReached: round.some(({ state }) => state === 'sent'),
  };
}

/** The rows to store for a batch of due pages. */
class StepBatch {
  readonly #now: number;
  readonly #settings: StepSettings;
  readonly pages: AlertPage[] = [];
  readonly toSetBack: AlertPage[] = [];
  readonly notifications: PageNotification[] = [];
  readonly entries: Parameters<PageStore['log']>[0][number][] = [];

  constructor(now: number, settings: StepSettings) {
    this.#now = now;
    this.#settings = settings;
  }

  put(page: AlertPage): void {
    this.pages.push(page);
  }

  close(page: AlertPage, reason: string): void {
    const now = this.#now;
    this.put({ ...page, state: 'closed', closed_ms: now, next_ms: 0 });
    this.entries.push({ page, at: now, what: reason, by: '' });
  }

  add(
    { page, carriesOut, setsBack, exhaustion, log }: Advance,
    {
      called,
      maintainers,
    }: { readonly called: readonly Recipient[]; readonly maintainers: readonly Recipient[] },
  ): void {
    const now = this.#now;
    if (log !== '') this.entries.push({ page, at: now, what: log, by: '' });
    for (const { destination, user, afterMinutes } of called) {
      const due_ms = now + afterMinutes * 60_000;
      const call = { kind: 'triggered' as const, destination, user, due_ms, now, afterMinutes };
      this.notifications.push(newNotification(page, call));
    }
    if (exhaustion !== '') this.#notifyMaintainers(page, maintainers, exhaustion);
    // Without recipients, the next step is due at once.
    const isEmpty = carriesOut && called.length === 0;
    this.put(isEmpty ? { ...page, next_ms: now } : page);
    if (setsBack) this.toSetBack.push(page);
    if (carriesOut) {
      const what = isEmpty ? `step ${page.step} has nobody to call` : `step ${page.step}`;
      this.entries.push({ page, at: now, what, by: '' });
    }
  }

  #notifyMaintainers(page: AlertPage, maintainers: readonly Recipient[], reason: string): void {
    const now = this.#now;
    const hasFallback = this.#settings.PAGE_FALLBACK_EMAIL !== undefined;
    const all = [...maintainers, ...(hasFallback ? [{ destination: FALLBACK, user: '' }] : [])];
    for (const { destination, user } of all) {
      const fields = { kind: 'exhausted' as const, destination, user, reason, due_ms: now, now };
      this.notifications.push(newNotification(page, fields));
    }
  }
}
