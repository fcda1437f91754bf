import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Lease } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { EventConsumer } from '../consequences/consequences.ts';
import { ALERT_LATE_MS_MAX, type DecidedChange } from '../consequences/event-history.ts';
import type { NotificationRulesStore } from '../destinations/rules.ts';
import type { Policies, Policy } from '../oncall/policies.ts';
import type { Routes } from '../oncall/routes.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import { type AlertPage, follow, newPage, type PageChange, pageKey } from './escalation.ts';
import type { PageDeliveries } from './page-deliveries.ts';
import type { PageMeasures } from './page-measures.ts';
import { notificationOf } from './page-notification.ts';
import type { PageNotification } from './page-reader.ts';
import { PAGING, type PageSteps } from './page-steps.ts';
import type { PageStore } from './page-store.ts';

interface PagerDependencies {
  readonly clock: Clock;
  readonly store: PageStore;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly routes: Pick<Routes, 'policyOf' | 'isApplied'>;
  readonly policies: Pick<Policies, 'findAll' | 'list'>;
  readonly rules: Pick<NotificationRulesStore, 'wantsStatusUpdates'>;
  readonly steps: Pick<PageSteps, 'wake'>;
  readonly deliveries: Pick<PageDeliveries, 'wake'>;
  readonly measures: PageMeasures;
}

/**
 * Pages follow the stored events of their alerts: a new alert opens one if the route has a policy, and what happens to
 * the alert acknowledges or closes it. Steps are carried out by `PageSteps` afterwards.
 *
 * Notifications are stored before the pages. A kill between the two repeats the same changes under the same ids. A kill
 * right after the pages loses the updates of calls that were leaving at that moment.
 */
export class Pager implements EventConsumer {
  readonly name = PAGING;
  readonly #deps: PagerDependencies;

  constructor(dependencies: PagerDependencies) {
    this.#deps = dependencies;
  }

  async apply(project: number, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
    const { store, routes, reader } = this.#deps;
    const iids = [...new Set(changes.map(({ iid }) => iid))];
    const [route, stored] = await Promise.all([
      routes.policyOf(String(project)),
      store.ofAlerts(project, iids),
    ]);
    if (route === null) await this.#countUnrouted(String(project), changes);
    if (route === null && stored.length === 0) return true;
    const alerts = await reader.findAll(project, iids);
    if (changes.some((change) => this.#isLate(change, alerts.get(change.iid)))) return false;
    const batch = new PageBatch(project, stored);
    const policies = await this.#deps.policies.findAll(String(project), [
      ...stored.map(({ policy }) => policy),
      ...(route === null ? [] : [route.policyId]),
    ]);
    for (const change of changes) {
      const severity = alerts.get(change.iid)?.severity;
      if (severity === undefined) continue;
      batch.follow(change, { route, severity, policyOf: (id) => policies.get(id) ?? null });
    }
    const updates = await this.#updatesOf(project, batch.updates);
    await lease.ensure();
    await store.add(updates);
    await store.log(batch.entries);
    await store.save(batch.changed);
    // A call that was marked as `sending` since then can no longer be dropped, so its person needs the update too.
    const known = new Set(updates.map(({ id }) => id));
    const late = (await this.#updatesOf(project, batch.updates)).filter(({ id }) => !known.has(id));
    await store.add(late);
    if (batch.changed.some(({ next_ms }) => next_ms > 0)) this.#deps.steps.wake([project]);
    this.#deps.deliveries.wake([...updates, ...late]);
    return true;
  }

  /** A project without policies, or with an external on-call tool, pages nobody on purpose. */
  async #countUnrouted(projectId: string, changes: readonly DecidedChange[]): Promise<void> {
    const { routes, policies, measures } = this.#deps;
    const created = changes.filter(({ name }) => name === 'created').length;
    if (created === 0 || !(await routes.isApplied(projectId))) return;
    if ((await policies.list(projectId)).length > 0) measures.unroutedAlerts.inc(created);
  }

  /** Whether the alert of an event may still be written. */
  #isLate(change: DecidedChange, alert: Alert | undefined): boolean {
    const isMissing = alert === undefined || alert.position < change.position;
    return isMissing && this.#deps.clock.now() - change.at < ALERT_LATE_MS_MAX;
  }

  /** Updates for everybody who accepted a call. */
  async #updatesOf(
    project: number,
    updates: readonly (PageChange & { readonly change: DecidedChange })[],
  ): Promise<PageNotification[]> {
    const { store, rules, clock } = this.#deps;
    if (updates.length === 0) return [];
    const called = await store.called(
      project,
      updates.map(({ page }) => page),
    );
    const users = [...new Set(called.map(({ user }) => user))].filter((user) => user !== '');
    const wanted = new Set(['']);
    for (const user of users) if (await rules.wantsStatusUpdates(user)) wanted.add(user);
    return updates.flatMap(({ page, update, change }) =>
      called
        .filter(
          ({ alert, policy, user }) => alert === page.alert && policy === page.policy && wanted.has(user),
        )
        .map(({ destination, user }) =>
          notificationOf(page, {
            kind: update as NonNullable<typeof update>,
            ...{ destination, user, by: change.by, due_ms: change.at, now: clock.now() },
          }),
        ),
    );
  }
}

interface FollowContext {
  readonly route: Awaited<ReturnType<Routes['policyOf']>>;
  /** Of the alert now. */
  readonly severity: string;
  readonly policyOf: (id: string) => Policy | null;
}

/** The pages of a batch of alerts, with the changes of these alerts applied. */
class PageBatch {
  readonly #project: number;
  /** Stored position by page: changes up to it were applied before. */
  readonly #followed = new Map<string, number>();
  readonly #pages = new Map<string, AlertPage>();
  readonly #dirty = new Set<string>();
  readonly updates: (PageChange & { readonly change: DecidedChange })[] = [];
  readonly entries: Parameters<PageStore['log']>[0][number][] = [];

  constructor(project: number, stored: readonly AlertPage[]) {
    this.#project = project;
    for (const page of stored) {
      this.#pages.set(pageKey(page), page);
      this.#followed.set(pageKey(page), page.position);
    }
  }

  get changed(): AlertPage[] {
    return [...this.#dirty].map((key) => this.#pages.get(key) as AlertPage);
  }

  follow(change: DecidedChange, { route, severity, policyOf }: FollowContext): void {
    const opens = change.name === 'created' || change.name === 'raised';
    const policy = route === null ? null : policyOf(route.policyId);
    if (opens && route !== null && policy !== null) {
      const named = { project: this.#project, alert: change.iid, policy: policy.id, severity };
      if (!this.#pages.has(pageKey(named))) {
        this.#put(newPage(named, change, route.delaySeconds * 1000));
        return;
      }
    }
    for (const page of this.#pages.values()) {
      if (page.alert !== change.iid || change.position <= (this.#followed.get(pageKey(page)) ?? -1)) continue;
      const isRouted = route?.policyId === page.policy;
      const next = follow(page, change, { policy: policyOf(page.policy), isRouted, severity });
      this.#put(next.page);
      if (next.update !== null) this.updates.push({ ...next, change });
      if (next.log !== '')
        this.entries.push({ page: next.page, at: change.at, what: next.log, by: change.by });
    }
  }

  #put(page: AlertPage): void {
    this.#pages.set(pageKey(page), page);
    this.#dirty.add(pageKey(page));
  }
}
