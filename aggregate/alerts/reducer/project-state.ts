import { type Alert, alertBytes, isOpen } from '../model/alert.ts';
import { isNamed } from '../model/retry-key.ts';

/** A delivery that was counted under its retry key. */
export interface CountedDelivery {
  /** When it was accepted, in milliseconds since the epoch. */
  readonly at: number;
  /** The alert that it created; 0 when it created none. */
  readonly created: number;
  /** Of the event that counted it last; 0 for one that was read from the store. */
  readonly position: number;
  /** Whether it was a resolve that found no open alert. */
  readonly isUnmatched: boolean;
}

/** Deliveries among which a retry is recognized. */
interface CountedDeliveries {
  /** By retry key, in the order in which they were counted. */
  readonly byKey: Map<string, CountedDelivery>;
  /** All that were accepted at this time or later are in the map; earlier ones may be in the store alone. */
  completeFrom: number;
  /** The widest window in milliseconds that any delivery was grouped with. */
  windowMs: number;
  /** The time of the event after which the expired ones were removed last. */
  expiredAt: number;
}

/**
 * What the next event of a project is decided on. Alerts that are not in it are in the store; the caller loads those
 * that an event needs before it reduces the event.
 */
export interface ProjectState {
  readonly project: number;
  /** Of the newest event. */
  position: number;
  lastIid: number;
  /** Alerts that were loaded or changed, the latest last. */
  readonly byIid: Map<number, Alert>;
  /** The unresolved ones of them by fingerprint. */
  readonly open: Map<string, Alert>;
  /** Whether every unresolved alert of the project is in the state. */
  hasAllOpen: boolean;
  readonly counted: CountedDeliveries;
  /** Deliveries with an idempotency key, whose window is longer. */
  readonly named: CountedDeliveries;
  /** Ids of the newest events, oldest first: the log may contain an event twice. */
  readonly ids: Set<string>;
  /** About how many bytes the alerts and the counted deliveries take. */
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

/** The most messages that a publisher sends to the log at once, so at most that many events can be in it twice. */
export const IDS_MAX = 1000;

export function addEventId(state: ProjectState, id: string): void {
  state.ids.add(id);
  if (state.ids.size <= IDS_MAX) return;
  for (const oldest of state.ids) {
    state.ids.delete(oldest);
    return;
  }
}

/** Puts an alert into the state as it is now. */
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

/** Removes an alert from the state, which can be read from the store again. */
export function dropAlert(state: ProjectState, alert: Alert): void {
  if (state.byIid.delete(alert.iid)) state.bytes -= alertBytes(alert);
  if (state.open.get(alert.fingerprint)?.iid === alert.iid) state.open.delete(alert.fingerprint);
  if (isOpen(alert)) state.hasAllOpen = false;
}

/** Smaller maps are never evicted from, so their order does not matter. */
const ORDERED_FROM = 5000;

/** Moves an entry to the end: the entries that were used longest ago are evicted first. */
function putLast<Key>(alerts: Map<Key, Alert>, key: Key, alert: Alert): void {
  if (alerts.size >= ORDERED_FROM) alerts.delete(key);
  alerts.set(key, alert);
}

/** The counted deliveries among which a retry key is looked up. */
export const countedBy = (state: ProjectState, retryKey: string): CountedDeliveries =>
  isNamed(retryKey) ? state.named : state.counted;

const COUNTED_BYTES = 150;
export const countedBytes = (retryKey: string): number => COUNTED_BYTES + retryKey.length;

/** Stores a counted delivery under its retry key. Its time never goes back: servers stamp events by their own clocks. */
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

/** Removes a counted delivery from the state, which can be read from the store again. */
export function dropCounted(state: ProjectState, retryKey: string, { at }: CountedDelivery): void {
  const counted = countedBy(state, retryKey);
  if (!counted.byKey.delete(retryKey)) return;
  state.bytes -= countedBytes(retryKey);
  counted.completeFrom = Math.max(counted.completeFrom, at + 1);
}

/** Whether a delivery of a retry key that is not in the state may be in the store, for an event of this time. */
export function mayBeCounted(state: ProjectState, retryKey: string, at: number): boolean {
  const { byKey, completeFrom, windowMs } = countedBy(state, retryKey);
  return !byKey.has(retryKey) && at - windowMs < completeFrom;
}

/**
 * Servers stamp events before the log orders them, each by its own clock: a counted delivery is kept for this much
 * longer than its window, so that an event with an earlier stamp finds it without asking the store.
 */
export const CLOCK_SKEW_MS = 60_000;
/** A map keeps holes where entries were deleted, and walks over them: it is walked once for many events. */
const EXPIRY_MS = 1000;

/** Removes deliveries that are older than their window, by the time of an event. */
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
