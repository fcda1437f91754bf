import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Lease } from '../../../infra/coordination/lock.ts';
import type { Clock } from '../../../infra/ports.ts';
import type { NotificationRulesStore } from '../destinations/rules.ts';
import type { EventConsumer } from '../events/event-consumers.ts';
import { ALERT_WAIT_MS_MAX, type StoredAlertChange } from '../events/event-history.ts';
import type { Policies, Policy } from '../oncall/policies.ts';
import type { ProjectRoutes, Routes, RouteTarget } from '../oncall/routes.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { Suppression, Suppressor } from '../suppression/suppressor.ts';
import { type AlertPage, follow, newPage, type PageChange, pageKey, SUPPRESSED } from './escalation.ts';
import type { PageDeliveries } from './page-deliveries.ts';
import type { PageMetrics } from './page-metrics.ts';
import { newNotification } from './page-notification.ts';
import type { PageNotification } from './page-reader.ts';
import { PAGING, type PageSteps } from './page-steps.ts';
import type { PageStore } from './page-store.ts';

interface PagerDependencies {
  readonly clock: Clock;
  readonly store: PageStore;
  readonly reader: Pick<AlertReader, 'findAll'>;
  readonly routes: Pick<Routes, 'load' | 'isApplied'>;
  readonly policies: Pick<Policies, 'findAll' | 'list'>;
  readonly suppressor: Pick<Suppressor, 'suppressions' | 'labelReader'>;
  readonly rules: Pick<NotificationRulesStore, 'wantsStatusUpdates'>;
  readonly steps: Pick<PageSteps, 'wake'>;
  readonly deliveries: Pick<PageDeliveries, 'wake'>;
  readonly metrics: PageMetrics;
}

/**
 * Applies the stored events of alerts to their pages. A new alert opens a page for each policy of its routes; later
 * events acknowledge or close it. `PageSteps` carries out the steps.
 *
 * Notifications are stored before the pages. A kill between the two repeats the same changes under the same ids. A kill
 * right after the pages are stored loses the status updates for calls that were being sent at that moment.
 */
export class Pager implements EventConsumer {
  readonly name = PAGING;
  readonly #deps: PagerDependencies;

  constructor(dependencies: PagerDependencies) {
    this.#deps = dependencies;
  }

  async apply(project: number, changes: readonly StoredAlertChange[], lease: Lease): Promise<boolean> {
    const { store, routes, reader, suppressor, clock } = this.#deps;
    const iids = [...new Set(changes.map(({ iid }) => iid))];
    const [routed, stored] = await Promise.all([routes.load(String(project)), store.ofAlerts(project, iids)]);
    const created = changes.filter(({ name }) => name === 'created');
    if (routed.policies.length === 0 && stored.length === 0) {
      await this.#countUnrouted(String(project), created.length);
      return true;
    }
    const alerts = await reader.findAll(project, iids);
    if (changes.some((change) => this.#isLate(change, alerts.get(change.iid)))) return false;
    const batch = new PageBatch(project, stored);
    const policies = await this.#deps.policies.findAll(String(project), [
      ...stored.map(({ policy }) => policy),
      ...routed.policies,
    ]);
    const now = clock.now();
    const routing = new Set(changes.filter(readsRoutes).map(({ iid }) => iid));
    const toRoute = [...alerts.values()].filter(({ iid }) => routing.has(iid));
    const suppressions = await suppressor.suppressions(String(project), toRoute, now);
    const targets = await this.#targetsOf(routed, toRoute);
    for (const change of changes) {
      const severity = alerts.get(change.iid)?.severity;
      if (severity === undefined) continue;
      batch.follow(change, {
        ...{ severity, now, policyOf: (id) => policies.get(id) ?? null },
        ...{ suppression: suppressions.get(change.iid) ?? null, targets: targets.get(change.iid) ?? [] },
      });
    }
    const unrouted = created.filter(({ iid }) => (targets.get(iid) ?? []).length === 0);
    await this.#countUnrouted(String(project), unrouted.length);
    const updates = await this.#updatesOf(project, batch.updates);
    await lease.ensure();
    await store.add(updates);
    await store.log(batch.entries);
    await store.save(batch.changed);
    // Calls that were marked as `sending` since the first read can no longer be dropped, so their recipients need updates.
    const storedIds = new Set(updates.map(({ id }) => id));
    const late = (await this.#updatesOf(project, batch.updates)).filter(({ id }) => !storedIds.has(id));
    await store.add(late);
    if (batch.changed.some(({ next_ms }) => next_ms > 0)) this.#deps.steps.wake([project]);
    this.#deps.deliveries.wake([...updates, ...late]);
    return true;
  }

  async #targetsOf(
    routed: ProjectRoutes,
    alerts: readonly Alert[],
  ): Promise<ReadonlyMap<number, readonly RouteTarget[]>> {
    const labelsOf = await this.#deps.suppressor.labelReader();
    const targets = new Map<number, readonly RouteTarget[]>();
    for (const alert of alerts) targets.set(alert.iid, await routed.targetsOf(labelsOf(alert)));
    return targets;
  }

  /** Skips projects without policies or with an external on-call tool: they page nobody on purpose. */
  async #countUnrouted(projectId: string, count: number): Promise<void> {
    const { routes, policies, metrics } = this.#deps;
    if (count === 0 || !(await routes.isApplied(projectId))) return;
    if ((await policies.list(projectId)).length > 0) metrics.unroutedAlerts.inc(count);
  }

  /** True if the alert of an event may still be written. */
  #isLate(change: StoredAlertChange, alert: Alert | undefined): boolean {
    const isMissing = alert === undefined || alert.position < change.position;
    return isMissing && this.#deps.clock.now() - change.at < ALERT_WAIT_MS_MAX;
  }

  /** Status updates for everyone who accepted a call. */
  async #updatesOf(
    project: number,
    updates: readonly (PageChange & { readonly change: StoredAlertChange })[],
  ): Promise<PageNotification[]> {
    const { store, rules, clock } = this.#deps;
    if (updates.length === 0) return [];
    const called = await store.callRecipients(
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
          newNotification(page, {
            kind: update as NonNullable<typeof update>,
            ...{ destination, user, by: change.by, due_ms: change.at, now: clock.now() },
          }),
        ),
    );
  }
}

interface FollowContext {
  /** The policies that the routes choose for the alert now. */
  readonly targets: readonly RouteTarget[];
  readonly suppression: Suppression | null;
  /** Current severity of the alert. */
  readonly severity: string;
  readonly policyOf: (id: string) => Policy | null;
  readonly now: number;
}

/** Changes that open a page for each routed policy without a page. */
const OPENING: ReadonlySet<StoredAlertChange['name']> = new Set(['created', 'raised', 'reopened']);

/** `triggered` opens no new page, but a closed one starts again if the alert is still routed. */
const readsRoutes = ({ name }: StoredAlertChange): boolean => OPENING.has(name) || name === 'triggered';

/** Applies the changes of a batch of alerts to their pages. */
class PageBatch {
  readonly #project: number;
  /** Stored position of each page. Changes up to this position are already applied. */
  readonly #followed = new Map<string, number>();
  readonly #pages = new Map<string, AlertPage>();
  readonly #dirty = new Set<string>();
  readonly updates: (PageChange & { readonly change: StoredAlertChange })[] = [];
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

  follow(change: StoredAlertChange, context: FollowContext): void {
    const { targets, severity, policyOf } = context;
    for (const page of this.#pages.values()) {
      if (page.alert !== change.iid || change.position <= (this.#followed.get(pageKey(page)) ?? -1)) continue;
      const isRouted = targets.some(({ policyId }) => policyId === page.policy);
      const next = follow(page, change, { policy: policyOf(page.policy), isRouted, severity });
      this.#put(next.page);
      if (next.update !== null) this.updates.push({ ...next, change });
      if (next.log !== '')
        this.entries.push({ page: next.page, at: change.at, what: next.log, by: change.by });
    }
    if (OPENING.has(change.name)) this.#open(change, context);
  }

  /** Opens missing pages. */
  #open(change: StoredAlertChange, { targets, severity, suppression, policyOf, now }: FollowContext): void {
    for (const { route, policyId, delaySeconds } of targets) {
      const fields = { project: this.#project, alert: change.iid, policy: policyId, route, severity };
      if (policyOf(policyId) === null || this.#pages.has(pageKey(fields))) continue;
      const page = newPage(fields, change, { delayMs: delaySeconds * 1000, suppression, now });
      this.#put(page);
      if (page.state === 'suppressed') this.entries.push({ page, at: change.at, what: SUPPRESSED, by: '' });
    }
  }

  #put(page: AlertPage): void {
    this.#pages.set(pageKey(page), page);
    this.#dirty.add(pageKey(page));
  }
}
