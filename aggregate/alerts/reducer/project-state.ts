import { type Alert, alertBytes, isOpen } from '../model/alert.ts';
import { isNamed } from '../model/retry-key.ts';
import { AgedMap } from './aged-map.ts';

/** A delivery that was counted under its retry key. */
export interface CountedDelivery {
  /** When it was accepted, in milliseconds since the epoch. */
  readonly at: number;
  /** The alert that it created; 0 when it created none. */
  readonly created: number;
  /** Of the event that counted it last; 0 for one that was read from the store. */
  readonly position: number;
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
  /** Deliveries inside the retry window by retry key, oldest first. */
  readonly counted: AgedMap<CountedDelivery>;
  /** The same for deliveries with an idempotency key, whose window is longer. */
  readonly named: AgedMap<CountedDelivery>;
  /** The widest windows in milliseconds that any delivery was grouped with; retry keys are stored for as long. */
  retryWindowMs: number;
  namedWindowMs: number;
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
  counted: new AgedMap(),
  named: new AgedMap(),
  retryWindowMs: 0,
  namedWindowMs: 0,
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
  // Of what an alert takes, only its assignees change.
  else if (before.assignees !== alert.assignees) state.bytes += alertBytes(alert) - alertBytes(before);
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
}

/** Smaller maps are never evicted from, so their order does not matter. */
const ORDERED_FROM = 5000;

/** Moves an entry to the end: the entries that were used longest ago are evicted first. */
function putLast<Key>(alerts: Map<Key, Alert>, key: Key, alert: Alert): void {
  if (alerts.size >= ORDERED_FROM) alerts.delete(key);
  alerts.set(key, alert);
}

/** The counted deliveries among which a retry key is looked up. */
export const countedBy = (state: ProjectState, retryKey: string): AgedMap<CountedDelivery> =>
  isNamed(retryKey) ? state.named : state.counted;

/** How long after a delivery of a retry key another one counts as its retry, in milliseconds. */
export const windowOf = ({ namedWindowMs, retryWindowMs }: ProjectState, retryKey: string): number =>
  isNamed(retryKey) ? namedWindowMs : retryWindowMs;

const COUNTED_BYTES = 150;
export const countedBytes = (retryKey: string): number => COUNTED_BYTES + retryKey.length;

/** Stores a counted delivery under its retry key, unless one that was accepted later is stored already. */
export function putCounted(state: ProjectState, retryKey: string, delivery: CountedDelivery): void {
  const counted = countedBy(state, retryKey);
  const before = counted.get(retryKey);
  if (before === undefined) state.bytes += countedBytes(retryKey);
  counted.put(retryKey, before !== undefined && before.at > delivery.at ? before : delivery);
}

/**
 * Servers stamp events before the log orders them, each by its own clock: a counted delivery is stored for this much
 * longer than its window, so that an event with a late stamp still finds it.
 */
export const CLOCK_SKEW_MS = 60_000;

/** Removes the deliveries that are older than the window of a retry key. */
export function evictCounted(state: ProjectState, retryKey: string, now: number): void {
  const counted = countedBy(state, retryKey);
  const window = windowOf(state, retryKey);
  for (let oldest = counted.oldest(); oldest !== undefined; oldest = counted.oldest()) {
    const [key, { at }] = oldest;
    if (now - at < window + CLOCK_SKEW_MS) break;
    dropCounted(state, key);
  }
}

/** Removes a counted delivery from the state. */
export function dropCounted(state: ProjectState, retryKey: string): void {
  if (countedBy(state, retryKey).delete(retryKey)) state.bytes -= countedBytes(retryKey);
}
