import { deliveryIdOf, type Notification } from '../events/outbox.ts';
import { isRefusal, REFUSED_ATTEMPTS_MAX, retryDelayMs } from '../http-client/back-off.ts';
import type { DeliveryAttempt, SendResult } from './webhook-sender.ts';

/** Collects the results of one round of requests to a target. */
export class DeliveryResults {
  readonly #project: number;
  /** Longest wait of a notification for its next attempt. */
  readonly #retryMsMax: number;
  readonly attempts: DeliveryAttempt[] = [];
  readonly accepted: Notification[] = [];
  /** Notifications to retry, and notifications that are accepted or given up. */
  readonly open: Notification[] = [];
  readonly done: Notification[] = [];
  /** Failures since the last accepted request. */
  failuresInARow = 0;
  /** Delay that the target asks for. */
  retryAfterMs = 0;
  #failed = 0;

  constructor(project: number, retryMsMax: number) {
    this.#project = project;
    this.#retryMsMax = retryMsMax;
  }

  /** True if the target accepted nothing. */
  get isDown(): boolean {
    return this.#failed > 0 && this.accepted.length === 0;
  }

  get isEmpty(): boolean {
    return this.open.length === 0 && this.done.length === 0;
  }

  /** Adds the result of a request. */
  add(notification: Notification, { at, retryAfterMs, ...result }: SendResult): void {
    const isAccepted = result.fault === '';
    const attempts = notification.attempts + 1;
    const given_up = !isAccepted && isRefusal(result.status) && attempts >= REFUSED_ATTEMPTS_MAX;
    const fault = given_up ? `${result.fault}; given up after ${attempts} attempts` : result.fault;
    this.attempts.push({ at, ...this.#named(notification), ...result, fault, given_up });
    if (isAccepted || given_up) this.done.push(notification);
    if (isAccepted) {
      this.accepted.push(notification);
      this.failuresInARow = 0;
      return;
    }
    this.#failed++;
    this.failuresInARow++;
    this.retryAfterMs = Math.max(this.retryAfterMs, retryAfterMs);
    const next_ms = at + retryDelayMs(attempts, this.#retryMsMax);
    if (!given_up) this.open.push({ ...notification, attempts, next_ms });
  }

  giveUp(notification: Notification, at: number, fault: string): void {
    this.done.push(notification);
    const result = { status: 0, milliseconds: 0, fault, given_up: true };
    this.attempts.push({ at, ...this.#named(notification), ...result });
  }

  /** Ends a notification whose alert does not exist. */
  drop(notification: Notification): void {
    this.done.push(notification);
  }

  #named(notification: Notification) {
    const { name: event, iid } = notification;
    return { event, iid, delivery: deliveryIdOf(this.#project, notification) };
  }
}
