import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { AlertSettings } from '../../../aggregate/alerts/model/settings.ts';
import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { ConsumerMetrics } from '../events/consumer-metrics.ts';
import type { ConsumerProgress, Progress } from '../events/consumer-progress.ts';
import { ALERT_RETRY_MS, ALERT_WAIT_MS_MAX, tracesOf } from '../events/event-history.ts';
import { deliveryIdOf, type Notification, type Outbox, targetLock } from '../events/outbox.ts';
import type { ProjectJobs, ProjectTask } from '../events/project-jobs.ts';
import { retryDelayMs } from '../http-client/back-off.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import type { OncallLinks } from '../integrations/oncall-link.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import { DeliveryResults } from './delivery-results.ts';
import {
  type NotificationTarget,
  type OpenTarget,
  oncallTarget,
  type WebhookSender,
  webhookTarget,
} from './webhook-sender.ts';
import type { Webhooks } from './webhooks.ts';

/** Requests to one webhook or on-call link at the same time. */
const CONCURRENCY = 16;
/** An event is given up if the receiver has not accepted it after this time. */
const GIVE_UP_HOURS = 24;

export type DeliverySettings = Pick<AlertSettings, 'ALERT_WEBHOOK_RETRY_SECONDS_MAX'>;

interface WebhookDeliveriesDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly reader: AlertReader;
  readonly cache: IntegrationCache;
  readonly webhooks: Webhooks;
  readonly oncallLinks: OncallLinks;
  readonly progress: ConsumerProgress;
  readonly outbox: Outbox;
  readonly jobs: ProjectJobs;
  readonly sender: WebhookSender;
  readonly metrics: ConsumerMetrics;
  readonly settings: DeliverySettings;
}

const NOTIFICATIONS_PER_ROUND = 200;
const ROUND_SECONDS_MAX = 10;
/** Retry interval while another process holds the lock of a target. */
const LOCKED_MS = 5000;
/** From this number of consecutive failures on, the target counts as down. */
const OUTAGE_FAILURES = 3;

/**
 * Sends the notifications of the outbox, each at least once. Notifications of one alert keep their order. A failing
 * target gets one notification at a time, with growing delays.
 */
export class WebhookDeliveries {
  readonly #deps: WebhookDeliveriesDependencies;
  /** Targets to which this process is sending requests. */
  readonly #open = new Set<OpenTarget>();
  #isStopped = false;

  constructor(dependencies: WebhookDeliveriesDependencies) {
    this.#deps = dependencies;
  }

  start(onFailure: (error: unknown) => void): void {
    const run = ({ project, name }: ProjectTask) => this.run(project, name);
    this.#deps.jobs.start({ run, pendingTasks: () => this.pendingTasks(), onFailure });
  }

  /** Cancels the requests that are under way; they are sent again after the next start. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    for (const { connections } of this.#open) connections.close();
    await this.#deps.jobs.stop();
  }

  /** Active targets with due notifications. */
  async pendingTasks(): Promise<ProjectTask[]> {
    const { clock, progress, cache, outbox, metrics } = this.#deps;
    const states = new Map((await progress.list()).map((state) => [state.target, state]));
    const tasks: ProjectTask[] = [];
    const counts = { waiting: 0, failing: 0 };
    for (const { project, target, newest } of await outbox.targets()) {
      const { position = 0, failures = 0, retry_ms = 0 } = states.get(target) ?? {};
      const isActive = (await cache.targetsOf(project)).some(({ id }) => id === target);
      if (!isActive || newest <= position) continue;
      counts[failures > 0 ? 'failing' : 'waiting']++;
      if (retry_ms <= clock.now()) tasks.push({ project, name: target });
    }
    metrics.receivers.set({ state: 'waiting' }, counts.waiting);
    metrics.receivers.set({ state: 'failing' }, counts.failing);
    return tasks;
  }

  /** Sends due notifications to a target. Returns the milliseconds until the next ones; undefined if there are none. */
  async run(project: number, id: string): Promise<number | undefined> {
    const { locks } = this.#deps;
    const ended = await locks.tryRun(targetLock(project, id), async (lease) => {
      const target = await this.#targetOf(project, id);
      return { againMs: target === null ? undefined : await this.#round(project, target, lease) };
    });
    return ended === null ? LOCKED_MS : ended.againMs;
  }

  /** Null if the target is missing or inactive, or if its project is deleted. */
  async #targetOf(project: number, id: string): Promise<NotificationTarget | null> {
    const { cache, webhooks, oncallLinks } = this.#deps;
    if (!(await cache.targetsOf(project)).some((target) => target.id === id)) return null;
    const webhook = await webhooks.find({ id: String(project) }, id);
    if (webhook) return webhook.is_active ? webhookTarget(webhook) : null;
    const link = await oncallLinks.findActive(String(project), id);
    return link && oncallTarget(link);
  }

  async #round(project: number, target: NotificationTarget, lease: Lease): Promise<number | undefined> {
    const { clock, progress, outbox, settings } = this.#deps;
    const { ALERT_WEBHOOK_RETRY_SECONDS_MAX: secondsMax } = settings;
    const before = (await progress.get(project, target.id)) ?? (await progress.begin(project, target.id));
    const now = clock.now();
    if (before.retry_ms > now) return before.retry_ms - now;
    const next = await outbox.next(project, target.id, before.position, now, NOTIFICATIONS_PER_ROUND);
    const [first] = next;
    if (first === undefined) return undefined;
    if (first.next_ms > now) return first.next_ms - now;
    const results = new DeliveryResults(project, secondsMax * 1000);
    const due = next.filter(({ next_ms }) => next_ms <= now);
    const isOld = ({ at }: Notification) => at < now - GIVE_UP_HOURS * HOUR_MS;
    for (const old of due.filter(isOld))
      results.giveUp(old, now, `given up: not accepted within ${GIVE_UP_HOURS} hours`);
    const round = { project, target, lease, before: { ...before, position: first.lowest - 1 } };
    const fresh = due.filter((notification) => !isOld(notification));
    if (fresh.length > 0) await this.#send(round, fresh, results);
    if (results.isEmpty) return ALERT_RETRY_MS;
    await this.#store(round, results);
    return this.#moveOn(round, results);
  }

  /** Sends several requests at a time. Stops after CONCURRENCY failures in a row, because the target is down. */
  async #send(
    { project, target, before }: Round,
    due: readonly Notification[],
    results: DeliveryResults,
  ): Promise<void> {
    const { reader, sender } = this.#deps;
    const iids = due.map(({ iid }) => iid);
    const alerts = await reader.findAll(project, iids);
    const ready = due.filter((notification) =>
      this.#isReady(notification, alerts.get(notification.iid), results),
    );
    const chosen = before.failures > 0 ? leastTried(ready) : ready;
    const traces = await tracesOf(this.#deps.store, project, chosen);
    const open = await sender.open(project, target, [...alerts.values()]);
    const deadline = performance.now() + ROUND_SECONDS_MAX * 1000;
    const waiting = chosen.values();
    const work = async () => {
      for (const notification of waiting) {
        if (this.#isStopped || results.failuresInARow >= CONCURRENCY || performance.now() > deadline) return;
        const alert = alerts.get(notification.iid) as Alert;
        const delivery = deliveryIdOf(project, notification);
        const causes = [traces.get(notification.position)];
        const result = await sender.send(open, { event: notification.name, alert, delivery, causes });
        // A cancelled request is not a failure.
        if (!this.#isStopped || result.status > 0) results.add(notification, result);
      }
    };
    this.#open.add(open);
    try {
      await Promise.all(Array.from({ length: Math.min(CONCURRENCY, chosen.length) }, work));
    } finally {
      this.#open.delete(open);
      open.connections.close();
    }
  }

  /** True if the alert is stored with this change. Drops the notification if its alert is still missing after an hour. */
  #isReady(notification: Notification, alert: Alert | undefined, results: DeliveryResults): boolean {
    const isMissing = alert === undefined || alert.position < notification.position;
    if (isMissing && this.#deps.clock.now() - notification.at < ALERT_WAIT_MS_MAX) return false;
    if (alert === undefined) results.drop(notification);
    return alert !== undefined;
  }

  async #store({ project, target, before, lease }: Round, results: DeliveryResults): Promise<void> {
    const { outbox, sender } = this.#deps;
    await lease.ensure();
    await outbox.save(project, target.id, results);
    await sender.record(target.id, results.attempts);
    const isBack = results.accepted.length > 0 && before.failures >= OUTAGE_FAILURES;
    if (isBack) await outbox.resetWaits(project, target.id);
  }

  /** Stores the state of the target. Returns the milliseconds until its next round. */
  async #moveOn({ before }: Round, results: DeliveryResults): Promise<number> {
    const { clock, progress, settings, metrics } = this.#deps;
    const { accepted, attempts, isDown, retryAfterMs } = results;
    const failures = isDown ? before.failures + 1 : accepted.length > 0 ? 0 : before.failures;
    const retryMsMax = settings.ALERT_WEBHOOK_RETRY_SECONDS_MAX * 1000;
    const asked = Math.min(retryMsMax, retryAfterMs);
    const waitMs = isDown ? Math.max(retryDelayMs(failures, retryMsMax), asked) : 0;
    const now = clock.now();
    const last = attempts.at(-1);
    const newest = last ? { status: last.status, fault: last.fault } : {};
    await progress.save(before, { failures, retry_ms: isDown ? now + waitMs : 0, ...newest });
    for (const { at } of accepted) {
      metrics.lateness.observe({ consequence: 'webhook' }, Math.max(0, now - at) / 1000);
    }
    return waitMs;
  }
}

interface Round {
  readonly project: number;
  readonly target: NotificationTarget;
  readonly before: Progress;
  readonly lease: Lease;
}

/** Picks one notification to probe a failing target. A notification that is always refused must not block the probe. */
function leastTried(due: readonly Notification[]): Notification[] {
  return [...due].sort((a, b) => a.attempts - b.attempts).slice(0, 1);
}
