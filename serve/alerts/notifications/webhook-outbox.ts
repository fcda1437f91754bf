import type { AlertSettings } from '../../../aggregate/alerts/settings.ts';
import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { Tracer } from '../../../infra/tracing/tracer.ts';
import type { ConsumerTask, EventConsumer } from '../consequences/consequence-loop.ts';
import type { ConsequenceMeasures } from '../consequences/consequence-measures.ts';
import {
  ALERT_LATE_MS,
  changesAfter,
  type DecidedChanges,
  projectsWithChanges,
  tracesOf,
} from '../consequences/event-history.ts';
import type { TaskResult } from '../consequences/fair-schedule.ts';
import type { ConsequenceProgress, Progress } from '../consequences/progress.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import { retryDelayMs } from './back-off.ts';
import { DeliveryRound } from './delivery-round.ts';
import { deliveryIdOf, type Notification, type SetAside, targetLock } from './notification.ts';
import type { OncallLinks } from './oncall-link.ts';
import { chainsToSend, cutAfter, sendChains } from './round.ts';
import {
  type NotificationTarget,
  type OpenTarget,
  oncallTarget,
  type WebhookSender,
  webhookTarget,
} from './webhook-sender.ts';
import type { Webhooks } from './webhooks.ts';

export type OutboxSettings = Pick<
  AlertSettings,
  'ALERT_WEBHOOK_CONCURRENCY' | 'ALERT_WEBHOOK_RETRY_SECONDS_MAX' | 'ALERT_WEBHOOK_GIVE_UP_HOURS'
>;

interface WebhookOutboxDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly locks: Locks;
  readonly reader: AlertReader;
  readonly cache: IntegrationCache;
  readonly webhooks: Webhooks;
  readonly oncallLinks: OncallLinks;
  readonly progress: ConsequenceProgress;
  readonly setAside: SetAside;
  readonly sender: WebhookSender;
  readonly measures: ConsequenceMeasures;
  readonly settings: OutboxSettings;
}

const EVENTS_PER_ROUND = 200;
const NOTIFICATIONS_PER_ROUND = 200;
const ROUND_SECONDS_MAX = 10;
/** How soon it is looked again whether another process still sends to a target. */
const LOCKED_MS = 5000;
/** After so many failures the target, and not a notification, was at fault. */
const OUTAGE_FAILURES = 3;

/**
 * Sends the events of projects to targets, each at least once and those of one alert in their order. What is due is
 * derived from the stored events, the position of the target in them and what was set aside: a kill only delays. A
 * target that fails is tried again with one notification at a time, after waits that grow.
 */
export class WebhookOutbox implements EventConsumer {
  readonly #deps: WebhookOutboxDependencies;
  /** Targets that requests are sent to. */
  readonly #open = new Set<OpenTarget>();
  #isStopped = false;

  constructor(dependencies: WebhookOutboxDependencies) {
    this.#deps = dependencies;
  }

  /** Cancels the requests that are under way; they are sent again after the next start. */
  stop(): void {
    this.#isStopped = true;
    for (const { connections } of this.#open) connections.close();
  }

  onTask(listener: (task: ConsumerTask) => void): void {
    this.#deps.setAside.onRetry(listener);
  }

  tasksOf(project: number): Promise<readonly string[]> {
    return this.#deps.cache.targetsOf(project);
  }

  async unfinished(): Promise<readonly ConsumerTask[]> {
    const { store, progress, cache, setAside } = this.#deps;
    const active = new Map<number, readonly string[]>();
    const positions = new Map<number, number>();
    const retries = new Map<string, number>();
    for (const { project, target, position, retry_ms } of await progress.list()) {
      retries.set(target, retry_ms);
      const targets = active.get(project) ?? (await cache.targetsOf(project));
      active.set(project, targets);
      if (!targets.includes(target)) continue;
      positions.set(project, Math.min(position, positions.get(project) ?? position));
    }
    const changed = await projectsWithChanges(store, positions);
    const waiting = (await setAside.targets()).filter(({ project, target }) =>
      active.get(project)?.includes(target),
    );
    // Another process may have found that a target is back, or its owner may have changed it there.
    const task = (project: number, name: string): ConsumerTask => {
      const notBeforeMs = retries.get(name);
      return { project, name, ...(notBeforeMs === undefined ? {} : { notBeforeMs }) };
    };
    return [
      ...changed.flatMap((project) => (active.get(project) ?? []).map((name) => task(project, name))),
      ...waiting.map(({ project, target }) => task(project, target)),
    ];
  }

  async run(project: number, id: string): Promise<TaskResult> {
    const { clock, locks } = this.#deps;
    const result = await locks.tryRun(targetLock(project, id), async (lease) => {
      const target = await this.#targetOf(String(project), id);
      return target === null ? { dueMs: null } : this.#round(project, target, lease);
    });
    return result ?? { dueMs: clock.now() + LOCKED_MS };
  }

  /** Null when it is not active or not there, or when its project is deleted. */
  async #targetOf(projectId: string, id: string): Promise<NotificationTarget | null> {
    if (!(await this.#deps.cache.targetsOf(Number(projectId))).includes(id)) return null;
    const webhook = await this.#deps.webhooks.find({ id: projectId }, id);
    if (webhook) return webhook.is_active ? webhookTarget(webhook) : null;
    const link = await this.#deps.oncallLinks.findActive(projectId, id);
    return link && oncallTarget(link);
  }

  async #round(project: number, target: NotificationTarget, lease: Lease): Promise<TaskResult> {
    const { store, clock, progress, setAside } = this.#deps;
    const before =
      (await progress.get(project, target.id)) ?? (await progress.skipHistory(project, target.id));
    if (before.retry_ms > clock.now()) return { dueMs: before.retry_ms, isFailing: true };
    const waiting = await setAside.list(project, target.id);
    const changes = await changesAfter(store, project, before.position, EVENTS_PER_ROUND);
    const unread = freshOf(changes, before, waiting, target);
    const round = new DeliveryRound(project, {
      waiting,
      fresh: unread.slice(0, NOTIFICATIONS_PER_ROUND),
      now: clock.now(),
      giveUpHours: this.#deps.settings.ALERT_WEBHOOK_GIVE_UP_HOURS,
      retryMsMax: this.#deps.settings.ALERT_WEBHOOK_RETRY_SECONDS_MAX * 1000,
    });
    const isWhole = await this.#send(round, target, before);
    const isRead = isWhole && unread.length <= NOTIFICATIONS_PER_ROUND;
    const cut = isRead
      ? { position: changes.position, item: 0, passedOver: round.unhandled }
      : cutAfter(round.fresh, round.handled, before);
    return this.#store({ project, target, before, round, cut, isMore: !isRead || changes.isFull }, lease);
  }

  /** Whether all that was due was sent. */
  async #send(round: DeliveryRound, target: NotificationTarget, { failures }: Progress): Promise<boolean> {
    const { reader, sender, settings } = this.#deps;
    const isProbe = failures > 0;
    const chains = chainsToSend({ ...round.due, now: round.now, isProbe });
    if (chains.length === 0) return !isProbe || round.fresh.length === round.handled.size;
    const iids = [...new Set(chains.flat().map(({ iid }) => iid))];
    const alerts = await reader.findAll(round.project, iids);
    const traces = await tracesOf(this.#deps, round.project, chains.flat());
    const open = await sender.open(target, alerts.values());
    this.#open.add(open);
    try {
      await sendChains({
        chains,
        concurrency: settings.ALERT_WEBHOOK_CONCURRENCY,
        secondsMax: ROUND_SECONDS_MAX,
        isStopped: () => this.#isStopped,
        send: async (notification) => {
          const alert = alerts.get(notification.iid);
          if (round.isLate(notification, alert)) return null;
          if (alert === undefined) return round.skip(notification);
          const delivery = deliveryIdOf(round.project, notification);
          const causes = [traces.get(notification.position)];
          const result = await sender.send(open, { event: notification.name, alert, delivery, causes });
          return this.#isStopped && result.status === 0 ? null : round.add(notification, result);
        },
      });
    } finally {
      this.#open.delete(open);
      open.connections.close();
    }
    return !isProbe && chains.every(([first]) => first !== undefined && round.handled.has(first));
  }

  async #store(
    { project, target, before, round, cut, isMore }: EndedRound,
    lease: Lease,
  ): Promise<TaskResult> {
    const { clock, progress, setAside, sender, settings, measures } = this.#deps;
    const isBack = round.accepted.length > 0 && before.failures >= OUTAGE_FAILURES;
    const { waiting, done } = round.rows(cut.passedOver, isBack);
    await lease.ensure();
    await setAside.save(project, target.id, { waiting: waiting.changed, done });
    await sender.record(target.id, round.attempts);
    const now = clock.now();
    const retryMsMax = settings.ALERT_WEBHOOK_RETRY_SECONDS_MAX * 1000;
    const isDown = round.failed > 0 && round.accepted.length === 0;
    const failures = isDown ? before.failures + 1 : round.accepted.length > 0 ? 0 : before.failures;
    const waitMs = Math.max(retryDelayMs(failures, retryMsMax), Math.min(retryMsMax, round.retryAfterMs));
    const retry_ms = isDown ? now + waitMs : failures === 0 ? 0 : before.retry_ms;
    const { position, item } = cut;
    const last = round.attempts.findLast(({ status, fault }) => status > 0 || fault !== '');
    const isMoved = position !== before.position || item !== before.item;
    if (isMoved || last !== undefined) {
      const newest = last ? { status: last.status, fault: last.fault } : {};
      await progress.save(before, { position, item, failures, retry_ms, ...newest });
    }
    for (const { at } of round.accepted) {
      measures.lateness.observe({ consequence: 'webhook' }, Math.max(0, now - at) / 1000);
    }
    if (isDown) return { dueMs: retry_ms, isFailing: true };
    const isBroken = failures > 0;
    if (round.hasLate) return { dueMs: now + ALERT_LATE_MS, isBroken };
    // Also events that this target is not told of take it further.
    return { dueMs: isMore && (isMoved || round.handled.size > 0) ? now : waiting.nextMs, isBroken };
  }
}

interface EndedRound {
  readonly project: number;
  readonly target: NotificationTarget;
  readonly before: Progress;
  readonly round: DeliveryRound;
  readonly cut: ReturnType<typeof cutAfter>;
  readonly isMore: boolean;
}

/** What a target is to be told of and has not been, in the order of the events. */
function freshOf(
  { changes }: DecidedChanges,
  { position, item }: Progress,
  waiting: readonly Notification[],
  target: NotificationTarget,
): Notification[] {
  const keyOf = (of: Pick<Notification, 'position' | 'item'>) => `${of.position}/${of.item}`;
  // After a kill between two writes, some are set aside already.
  const known = new Set(waiting.map(keyOf));
  const isDone = (of: Pick<Notification, 'position' | 'item'>) =>
    of.position === position + 1 && of.item < item;
  return changes
    .filter((of) => target.events.includes(of.name) && !isDone(of) && !known.has(keyOf(of)))
    .map((change) => ({ ...change, attempts: 0, next_ms: 0, version: 0 }));
}
