import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import { ALERT_LATE_MS_MAX } from '../consequences/event-history.ts';
import { isRefusal, REFUSED_ATTEMPTS_MAX, retryDelayMs } from './back-off.ts';
import { deliveryIdOf, type Notification } from './notification.ts';
import type { DeliveryAttempt, SendResult } from './webhook-sender.ts';

interface RoundOptions {
  /** Set aside before, and new ones after them, in the order of the events. */
  readonly waiting: readonly Notification[];
  readonly fresh: readonly Notification[];
  readonly now: number;
  readonly giveUpHours: number;
  /** Longest wait of a notification for its next attempt. */
  readonly retryMsMax: number;
}

/** Notifications that a target may have set aside; above it the oldest are given up. */
const SET_ASIDE_MAX = 1000;

/** What happens to the notifications of a target in one round of requests. */
export class DeliveryRound {
  readonly project: number;
  readonly now: number;
  readonly waiting: readonly Notification[];
  readonly fresh: readonly Notification[];
  /** Those that were sent, given up or skipped. */
  readonly handled = new Set<Notification>();
  readonly accepted: Notification[] = [];
  readonly attempts: DeliveryAttempt[] = [];
  /** Requests that were not accepted. */
  failed = 0;
  retryAfterMs = 0;
  hasLate = false;
  readonly #options: RoundOptions;
  /** Rows of those that failed and are sent again. */
  readonly #again: Notification[] = [];
  readonly #done: Notification[] = [];

  /** Gives up those that are too old. */
  constructor(project: number, options: RoundOptions) {
    this.project = project;
    this.now = options.now;
    this.waiting = options.waiting;
    this.fresh = options.fresh;
    this.#options = options;
    const oldest = options.now - options.giveUpHours * HOUR_MS;
    for (const notification of [...options.waiting, ...options.fresh]) {
      if (notification.at < oldest) {
        this.#giveUp(notification, `given up: not accepted within ${options.giveUpHours} hours`);
      }
    }
  }

  /** Those that are not given up. */
  get due(): { readonly waiting: Notification[]; readonly fresh: Notification[] } {
    const isOpen = (notification: Notification) => !this.handled.has(notification);
    return { waiting: this.waiting.filter(isOpen), fresh: this.fresh.filter(isOpen) };
  }

  get unhandled(): Notification[] {
    return this.fresh.filter((notification) => !this.handled.has(notification));
  }

  /** Whether the alert is not stored as the event left it, but may be soon. */
  isLate({ position, at }: Notification, alert: Alert | undefined): boolean {
    const isMissing = alert === undefined || alert.position < position;
    const isLate = isMissing && this.now - at < ALERT_LATE_MS_MAX;
    this.hasLate ||= isLate;
    return isLate;
  }

  /** There is no alert to send any more. */
  skip(notification: Notification): true {
    this.handled.add(notification);
    if (notification.version > 0) this.#done.push(notification);
    return true;
  }

  /** Adds the result of a request; returns whether it was accepted. */
  add(notification: Notification, { at, retryAfterMs, ...result }: SendResult): boolean {
    this.handled.add(notification);
    const { name: event, iid } = notification;
    const isAccepted = result.fault === '';
    const attempts = notification.attempts + 1;
    const given_up = !isAccepted && isRefusal(result.status) && attempts >= REFUSED_ATTEMPTS_MAX;
    const fault = given_up ? `${result.fault}; given up after ${attempts} attempts` : result.fault;
    const delivery = deliveryIdOf(this.project, notification);
    this.attempts.push({ at, event, iid, delivery, ...result, fault, given_up });
    if (isAccepted) this.accepted.push(notification);
    else this.failed++;
    if (!isAccepted && !given_up) {
      this.retryAfterMs = Math.max(this.retryAfterMs, retryAfterMs);
      const next_ms = at + retryDelayMs(attempts, this.#options.retryMsMax);
      this.#again.push({ ...notification, attempts, next_ms });
    } else if (notification.version > 0) this.#done.push(notification);
    return isAccepted;
  }

  /** The rows to store; `passedOver` are new ones that wait, all are due at once when the target is back. */
  rows(passedOver: readonly Notification[], isBack: boolean) {
    const untouched = this.waiting.filter((of) => !this.handled.has(of));
    const all = [...untouched, ...this.#again, ...passedOver].sort(
      (a, b) => a.position - b.position || a.item - b.item,
    );
    const excess = all.slice(0, Math.max(0, all.length - SET_ASIDE_MAX));
    for (const notification of excess) {
      this.#giveUp(notification, `given up: more than ${SET_ASIDE_MAX} events wait`);
    }
    const kept = all.slice(excess.length).map((of) => (isBack ? { ...of, next_ms: 0 } : of));
    const isStored = new Set(isBack ? [] : untouched);
    const changed = kept.filter((of) => !isStored.has(of));
    const heads = [...Map.groupBy(kept, ({ iid }) => iid).values()].map(([first]) => first?.next_ms ?? 0);
    const nextMs = heads.length === 0 ? null : heads.reduce((a, b) => Math.min(a, b));
    return { waiting: { changed, nextMs }, done: this.#done };
  }

  #giveUp(notification: Notification, fault: string): void {
    this.handled.add(notification);
    if (notification.version > 0) this.#done.push(notification);
    const { name: event, iid } = notification;
    const delivery = deliveryIdOf(this.project, notification);
    const result = { status: 0, milliseconds: 0, fault, given_up: true };
    this.attempts.push({ at: this.now, event, iid, delivery, ...result });
  }
}
