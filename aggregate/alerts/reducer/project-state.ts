import { type Alert, alertBytes, isOpen } from '../model/alert.ts';
import { isNamed } from '../model/retry-key.ts';

/** The last delivery with a retry key, remembered to recognize retries. */
export interface CountedDelivery {
  /** When it was accepted, in milliseconds since the epoch. */
  readonly at: number;
  /** The number of the alert that it created, or 0. */
  readonly created: number;
  /** Position of its event; 0 if it was read from the store. */
  readonly position: number;
  /** Whether it was a resolve that found no open alert. */
  readonly isUnmatched: boolean;
}

/** The remembered deliveries. */
interface CountedDeliveries {
  /** By retry key, oldest first. */
  readonly byKey: Map<string, CountedDelivery>;
  /** The map has all deliveries since this time. Earlier deliveries may be in the store only. */
  completeFrom: number;
  /** The longest retry window of any delivery, in milliseconds. */
  windowMs: number;
  /** Time of the last event that removed expired deliveries. */
  expiredAt: number;
}

/**
 * The state of a project, into which its events are reduced. It may lack alerts that are in the store. The caller loads the
 * alerts that an event needs before it reduces the event.
 */
export interface ProjectState {
  readonly project: number;
  /** Position of the newest event. */
  position: number;
  lastIid: number;
  /** Loaded or changed alerts, the latest last. */
  readonly byIid: Map<number, Alert>;
  /** The unresolved alerts among them by fingerprint. */
  readonly open: Map<string, Alert>;
  /** Whether the state has all unresolved alerts of the project. */
  hasAllOpen: boolean;
  /** Remembered deliveries without an idempotency key. */
  readonly counted: CountedDeliveries;
  /** Remembered deliveries with an idempotency key. Their window is longer. */
  readonly named: CountedDeliveries;
  /** Ids of the newest events, oldest first, because the log may contain an event twice. */
  readonly ids: Set<string>;
  /** Estimated size of the alerts and the remembered deliveries. */
  bytes: number;
}

export const emptyState = (project: number): ProjectState => ({
  project,
  position: 0,
  lastIid: 0,
  open: new Map(),
  byIid: new Map(),
  hasAllOpen: true,
  counted: { byKey: new Map(), completeFrom: 0, windowMs: 0, expiredAt: 0 },
  named: { byKey: new Map(), completeFrom: 0, windowMs: 0, expiredAt: 0 },
  ids: new Set(),
  bytes: 0,
});

/** Messages in a batch of the publisher, which is the most that the log can contain twice. */
export const IDS_MAX = 1000;

export function addEventId(state: ProjectState, id: string): void {
  state.ids.add(id);
  if (state.ids.size <= IDS_MAX) return;
  for (const oldest of state.ids) {
    state.ids.delete(oldest);
    return;
  }
}

/** Adds or replaces an alert. */
export function putAlert(state: ProjectState, alert: Alert | null): void {
  if (alert === null) return;
  state.lastIid = Math.max(state.lastIid, alert.iid);
  const before = state.byIid.get(alert.iid);
  if (before === undefined) state.bytes += alertBytes(alert);
  else state.bytes += alertBytes(alert) - alertBytes(before);
  putLast(state.byIid, alert.iid, alert);
  if (alert.fingerprint === '') return;
  if (isOpen(alert)) putLast(state.open, alert.fingerprint, alert);
  else if (state.open.get(alert.fingerprint)?.iid === alert.iid) {
    state.open.delete(alert.fingerprint);
  }
}

/** Removes an alert from memory. It can be read from the store again. */
export function dropAlert(state: ProjectState, alert: Alert): void {
  if (state.byIid.delete(alert.iid)) state.bytes -= alertBytes(alert);
  if (state.open.get(alert.fingerprint)?.iid === alert.iid) state.open.delete(alert.fingerprint);
  if (isOpen(alert)) state.hasAllOpen = false;
}

/** Alerts are evicted from larger maps only, so the order of smaller ones does not matter. */
const ORDERED_FROM = 5000;

/** Moves an entry to the end, because the least recently used entries are evicted first. */
function putLast<Key>(alerts: Map<Key, Alert>, key: Key, alert: Alert): void {
  if (alerts.size >= ORDERED_FROM) alerts.delete(key);
  alerts.set(key, alert);
}

/** The deliveries in which a retry key is looked up. */
export const countedBy = (state: ProjectState, retryKey: string): CountedDeliveries =>
  isNamed(retryKey) ? state.named : state.counted;

const COUNTED_BYTES = 150;
export const countedBytes = (retryKey: string): number => COUNTED_BYTES + retryKey.length;

/** Remembers a delivery under its retry key. The time of the key never decreases, although the clocks of servers differ. */
export function putCounted(state: ProjectState, retryKey: string, delivery: CountedDelivery): void {
  const { byKey } = countedBy(state, retryKey);
  const before = byKey.get(retryKey);
  if (before === undefined) state.bytes += countedBytes(retryKey);
  else byKey.delete(retryKey);
  byKey.set(
    retryKey,
    before !== undefined && before.at > delivery.at ? { ...delivery, at: before.at } : delivery,
  );
}

/** Removes a remembered delivery from memory. It can be read from the store again. */
export function dropCounted(state: ProjectState, retryKey: string, { at }: CountedDelivery): void {
  const counted = countedBy(state, retryKey);
  if (!counted.byKey.delete(retryKey)) return;
  state.bytes -= countedBytes(retryKey);
  counted.completeFrom = Math.max(counted.completeFrom, at + 1);
}

/** Whether the state may lack a stored delivery with this retry key that an event at the time `at` repeats. */
export function mayBeCounted(state: ProjectState, retryKey: string, at: number): boolean {
  const { byKey, completeFrom, windowMs } = countedBy(state, retryKey);
  return !byKey.has(retryKey) && at - windowMs < completeFrom;
}

/**
 * Largest difference between the clocks of servers. A delivery is remembered for this much longer than its window, so that
 * an event with an earlier time finds it without a query.
 */
export const CLOCK_SKEW_MS = 60_000;
/** Expiry runs once for many events, because iterating a map also visits the holes of deleted entries. */
const EXPIRY_MS = 1000;

/** Removes deliveries that are older than their window at the time of an event. */
export function expireCounted(state: ProjectState, now: number): void {
  for (const counted of [state.counted, state.named]) {
    if (Math.abs(now - counted.expiredAt) < EXPIRY_MS) continue;
    counted.expiredAt = now;
    for (const [retryKey, delivery] of counted.byKey) {
      if (now - delivery.at < counted.windowMs + CLOCK_SKEW_MS) break;
      dropCounted(state, retryKey, delivery);
    }
  }
}
