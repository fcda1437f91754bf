import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Clock, Queue } from '../../../infra/ports.ts';
import type { Channels } from '../destinations/channels.ts';
import type { Contacts } from '../destinations/contacts.ts';
import { ProjectJobs, type ProjectTask } from '../events/project-jobs.ts';
import { retryDelayMs } from '../http-client/back-off.ts';
import type { Destination } from '../messages/destination.ts';
import type { MessageSender, SendOutcome } from '../messages/send.ts';
import { departureOf, HISTORY_MS } from './bundling.ts';
import { canBePaged, type PeopleDependencies } from './can-be-paged.ts';
import type { PageMessages } from './page-messages.ts';
import { countAttempt, type PageMetrics } from './page-metrics.ts';
import type { PageNotification } from './page-reader.ts';
import {
  type DueNotification,
  destinationLock,
  type PageStore,
  rankOf,
  withoutPageState,
} from './page-store.ts';

interface PageDeliverySettings {
  readonly PAGE_BUNDLE_SECONDS: number;
  readonly PAGE_GIVE_UP_HOURS: number;
}

interface PageDeliveriesDependencies extends PeopleDependencies {
  readonly clock: Clock;
  readonly queue: Queue;
  readonly locks: Locks;
  readonly store: PageStore;
  readonly contacts: Pick<Contacts, 'find'>;
  readonly channels: Pick<Channels, 'find'>;
  /** The fallback address, notified along with the Owners and Maintainers; null for none. */
  readonly fallback: Destination | null;
  readonly messages: PageMessages;
  readonly sender: Pick<MessageSender, 'send'>;
  readonly metrics: PageMetrics;
  readonly settings: PageDeliverySettings;
}

/** Concurrency of a server. A project may use a quarter of it. */
const DESTINATIONS = 64;
const RETRY_MS_MAX = 60_000;
/** Retry interval while the lock of the destination is held. */
const LOCKED_MS = 5000;
/** Window of channels, which people read together. */
const CHANNEL_WINDOW_MS = 10_000;
/** Interval between events to PagerDuty, which takes one event per alert and few events per second. */
const UNBUNDLED_MS = 200;
const UNBUNDLED_PER_ROUND = 25;

/**
 * Sends notifications of pages to their destinations, each at least once. Due notifications of a destination are bundled.
 * A message without a result is sent again with the same key, marked as a possible duplicate, and without calls whose
 * page ended meanwhile.
 *
 * A message is stored before it leaves, and its result afterwards. A kill between the two sends it again.
 */
export class PageDeliveries {
  readonly #deps: PageDeliveriesDependencies;
  readonly #jobs: ProjectJobs;

  constructor(dependencies: PageDeliveriesDependencies) {
    this.#deps = dependencies;
    this.#jobs = new ProjectJobs({
      ...{ queue: dependencies.queue, name: 'page-deliveries', concurrency: DESTINATIONS },
      projectConcurrency: DESTINATIONS / 4,
    });
  }

  start(onFailure: (error: unknown) => void): void {
    const pendingTasks = async () => {
      const due = await this.#deps.store.destinationsWithDue(this.#deps.clock.now());
      return due.map(({ project, destination }) => ({ project, name: destination }));
    };
    const run = ({ project, name }: ProjectTask) => this.run(project, name);
    this.#jobs.start({ run, pendingTasks, onFailure });
  }

  stop(): Promise<void> {
    return this.#jobs.stop();
  }

  get sinceSweepMs(): number {
    return this.#jobs.sinceSweepMs;
  }

  /** Sends notifications that were just stored. */
  wake(notifications: readonly Pick<PageNotification, 'project' | 'destination'>[]): void {
    const tasks = notifications.map(({ project, destination }) => ({ project, name: destination }));
    this.#jobs.wake(new Map(tasks.map((task) => [`${task.project}/${task.name}`, task])).values());
  }

  /** Sends the due notifications of a destination. Returns the milliseconds until the next one is due. */
  async run(project: number, destination: string): Promise<number | undefined> {
    const { clock, locks, store } = this.#deps;
    const ended = await locks.tryRun(destinationLock(project, destination), async (lease) => {
      const againMs = await this.#round(project, destination, lease);
      if (againMs !== undefined) return { againMs };
      const next = await store.nextFor(project, destination);
      return { againMs: next === 0 ? undefined : Math.max(0, next - clock.now()) };
    });
    return ended === null ? LOCKED_MS : ended.againMs;
  }

  async #round(project: number, id: string, lease: Lease): Promise<number | undefined> {
    const { clock, store } = this.#deps;
    const now = clock.now();
    const due = await store.dueFor(project, id, now);
    const [{ user } = { user: '' }] = due;
    if (due.length === 0) return undefined;
    const isAllowed = user === '' || (await canBePaged(this.#deps, String(project), user));
    const destination = isAllowed ? await this.#find(project, id) : null;
    const lack = isAllowed
      ? 'the destination was deleted or is inactive'
      : 'the person left the project or is locked';
    const { finished, open } = this.#splitFinished(due, destination === null ? lack : '', now);
    if (finished.length > 0) {
      await lease.ensure();
      await store.change(finished);
    }
    if (destination === null || open.length === 0) return undefined;
    if (destination.type === 'pagerduty') return this.#sendUnbundled(destination, open, lease);
    return (await this.#retry(destination, open, lease)) ?? this.#sendNew(destination, open, lease);
  }

  /**
   * Retries messages that failed or have no result. Returns undefined if new messages need not wait: a destination that
   * responds is not down, so one failing message does not delay the others.
   */
  async #retry(
    destination: Destination,
    open: readonly DueNotification[],
    lease: Lease,
  ): Promise<number | undefined> {
    const now = this.#deps.clock.now();
    const begun = open.filter(({ message }) => message !== '');
    const [first] = begun.toSorted((a, b) => a.next_ms - b.next_ms);
    if (first === undefined) return undefined;
    if (first.next_ms <= now) {
      await this.#send(
        destination,
        begun.filter(({ message }) => message === first.message),
        lease,
      );
      return 0;
    }
    const hasNew = begun.length < open.length;
    return hasNew && first.status > 0 ? undefined : first.next_ms - now;
  }

  /** Sends new calls, or else status updates. A call never waits for a status update. */
  async #sendNew(destination: Destination, open: readonly DueNotification[], lease: Lease): Promise<number> {
    const { clock } = this.#deps;
    const waits: number[] = [];
    for (const isCall of [true, false]) {
      const fresh = open.filter(({ message, kind }) => message === '' && (kind === 'triggered') === isCall);
      const [worst] = fresh;
      if (worst === undefined) continue;
      const waitMs = (await this.#departure(destination, fresh, isCall)) - clock.now();
      if (waitMs > 0) {
        waits.push(waitMs);
        continue;
      }
      await this.#send(
        destination,
        fresh.filter(({ kind }) => kind === worst.kind),
        lease,
      );
      return 0;
    }
    return Math.min(...waits);
  }

  /** Null if the destination was deleted or is inactive. */
  async #find(project: number, id: string): Promise<Destination | null> {
    const { fallback, contacts, channels } = this.#deps;
    if (fallback !== null && id === fallback.id) return fallback;
    return (await contacts.find(id)) ?? channels.find(String(project), id);
  }

  /** Splits off notifications that must not be sent: calls of ended pages, expired retries, and those without a destination. */
  #splitFinished(due: readonly DueNotification[], lack: string, now: number) {
    const { PAGE_GIVE_UP_HOURS: hours } = this.#deps.settings;
    const finished: PageNotification[] = [];
    const open: DueNotification[] = [];
    for (const one of due) {
      const is_doubtful = one.is_doubtful || one.state === 'sending';
      if (one.kind === 'triggered' && !one.isCalling)
        finished.push({ ...withoutPageState(one), state: 'cancelled', is_doubtful });
      else if (lack !== '') finished.push({ ...withoutPageState(one), state: 'failed', fault: lack });
      // A notification without an attempt does not expire, because it became due while no server was running.
      else if (one.attempts > 0 && now - one.due_ms > hours * HOUR_MS) {
        const fault = `given up after ${hours} hours: ${one.fault || 'no attempt had a result'}`;
        finished.push({ ...withoutPageState(one), state: 'failed', fault });
      } else open.push(one);
    }
    return { finished, open };
  }

  async #departure(
    { id, isChannel }: Destination,
    fresh: readonly DueNotification[],
    isCall: boolean,
  ): Promise<number> {
    const { clock, store, settings } = this.#deps;
    const project = fresh[0]?.project ?? 0;
    const sent = await store.sentTo(project, id, { since: clock.now() - HISTORY_MS, isCall });
    const personalMs = settings.PAGE_BUNDLE_SECONDS * 1000;
    const windowMs = isChannel ? Math.min(CHANNEL_WINDOW_MS, personalMs) : personalMs;
    const waiting = fresh.map(({ due_ms, severity }) => ({ due: due_ms, rank: rankOf(severity) }));
    return departureOf(sent, waiting, windowMs);
  }

  /** Sends one event per alert, because the receiver groups them. */
  async #sendUnbundled(
    destination: Destination,
    open: readonly DueNotification[],
    lease: Lease,
  ): Promise<number> {
    const { clock } = this.#deps;
    const firsts = firstOfAlerts(open);
    const ready = firsts.filter(({ next_ms }) => next_ms <= clock.now());
    if (ready.length === 0)
      return Math.max(0, Math.min(...firsts.map(({ next_ms }) => next_ms)) - clock.now());
    for (const notification of ready.slice(0, UNBUNDLED_PER_ROUND)) {
      const againMs = await this.#send(destination, [notification], lease);
      if (againMs > 0) return againMs;
      await new Promise((done) => setTimeout(done, UNBUNDLED_MS));
    }
    return 0;
  }

  /** Sends one message. Returns the milliseconds before its next attempt; 0 if there is none. */
  async #send(destination: Destination, some: readonly DueNotification[], lease: Lease): Promise<number> {
    const { clock, store, messages, sender, metrics } = this.#deps;
    const key = some[0]?.message || `${some[0]?.project}/${some[0]?.id}`;
    const started_ms = clock.now();
    await lease.ensure();
    const marked = some.map((one) => {
      const is_doubtful = one.is_doubtful || one.state === 'sending';
      const attempts = one.attempts + 1;
      return {
        ...withoutPageState(one),
        state: 'sending' as const,
        message: key,
        attempts,
        is_doubtful,
        started_ms,
      };
    });
    await store.change(marked);
    const leaving = await this.#dropEnded(marked.map((one) => ({ ...one, version: one.version + 1 })));
    if (leaving.length === 0) return 0;
    const duplicatePossible = leaving.some(({ is_doubtful }) => is_doubtful);
    const message = await messages.of(leaving, { key, destination, duplicatePossible });
    const outcome = message === null ? GONE : await sender.send(destination, message);
    const results = leaving.map((one) => this.#resultOf(one, outcome));
    await store.change(results);
    countAttempt(metrics, destination.type, results);
    const [result] = results;
    return result?.state === 'pending' ? Math.max(0, result.next_ms - clock.now()) : 0;
  }

  /** Drops calls whose page ended before they were marked. A page that ends later sees the mark. */
  async #dropEnded(marked: readonly PageNotification[]): Promise<readonly PageNotification[]> {
    const { store } = this.#deps;
    const [first] = marked;
    if (first?.kind !== 'triggered') return marked;
    const notifications = await store.ofMessage(first.project, first.destination, first.message);
    const calling = new Set(notifications.flatMap(({ id, isCalling }) => (isCalling ? [id] : [])));
    const ended = marked.filter(({ id }) => !calling.has(id));
    if (ended.length > 0) await store.change(ended.map((one) => ({ ...one, state: 'cancelled' })));
    return marked.filter(({ id }) => calling.has(id));
  }

  #resultOf(
    one: PageNotification,
    { status, fault, isRefused, retryAfterMs }: SendOutcome,
  ): PageNotification {
    const { clock, settings } = this.#deps;
    const now = clock.now();
    const tried = { ...one, status, fault };
    if (fault === '') return { ...tried, state: 'sent', sent_ms: now };
    if (isRefused) return { ...tried, state: 'failed' };
    const askedMs = Math.min(retryAfterMs, settings.PAGE_GIVE_UP_HOURS * HOUR_MS);
    const waitMs = Math.max(retryDelayMs(one.attempts, RETRY_MS_MAX), askedMs);
    return {
      ...tried,
      state: 'pending',
      is_doubtful: one.is_doubtful || status === 0,
      next_ms: now + waitMs,
    };
  }
}

/** The alert of the notification was deleted. */
const GONE: SendOutcome = { status: 0, fault: 'the alert is gone', isRefused: true, retryAfterMs: 0 };

/** The oldest notification of each alert. Otherwise a late resolve would close a reopened incident. */
const firstOfAlerts = (open: readonly DueNotification[]): DueNotification[] =>
  [...Map.groupBy(open, ({ alert }) => alert).values()].map((notifications) =>
    notifications.reduce((first, one) => (one.created_ms < first.created_ms ? one : first)),
  );
