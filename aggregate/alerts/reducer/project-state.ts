import type { ParsedDelivery } from '../formats/delivery.ts';
import { type Alert, type AlertItem, isOpen, type Outcome } from '../model/alert.ts';
import type { ActionHead, DeliveryHead } from '../model/event.ts';
import { isNamed } from '../model/retry-key.ts';
import type { FoldRules } from '../model/rules.ts';
import { type Counted, type Decision, decideAction, decideItem } from './grouping.ts';

/**
 * What the next event of a project is decided on. Alerts that are not in here are in the store; whoever applies an
 * event has put those in that it asks for.
 */
export interface ProjectState {
  readonly project: number;
  /** Of the newest event. */
  position: number;
  lastIid: number;
  /** Unresolved alerts by fingerprint, and all that were asked for or changed lately by number. */
  readonly open: Map<string, Alert>;
  readonly byIid: Map<number, Alert>;
  /** Deliveries that were counted inside the window, oldest first. */
  readonly counted: Map<string, Counted>;
  /** The same for deliveries that their sender named: these are remembered for longer. */
  readonly named: Map<string, Counted>;
  /** The widest windows that any delivery was grouped with: what is remembered outlives them. */
  retryWindowMs: number;
  namedWindowMs: number;
  /** Of the newest events, oldest first: a log may be given an event twice. */
  readonly ids: Set<string>;
}

export const emptyState = (project: number): ProjectState => ({
  project,
  position: 0,
  lastIid: 0,
  open: new Map(),
  byIid: new Map(),
  counted: new Map(),
  named: new Map(),
  retryWindowMs: 0,
  namedWindowMs: 0,
  ids: new Set(),
});

/** As many as a publisher gives to the log at once: no more of them can be given twice. */
export const IDS_REMEMBERED = 1000;

/** Takes down that an event has its place in the order. */
export function note(state: ProjectState, id: string): void {
  state.ids.add(id);
  if (state.ids.size <= IDS_REMEMBERED) return;
  for (const oldest of state.ids) {
    state.ids.delete(oldest);
    return;
  }
}

/** An alert that a delivery created, also when it is a named one that was sent again. */
export interface CreatedAlert {
  readonly iid: number;
  readonly title: string;
}

/** What an event did. Lists are by item. */
export interface Reduction {
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly iids: readonly number[];
  readonly retryKeys: readonly string[];
  readonly created: readonly CreatedAlert[];
  /** Alerts as they are now; one that changed twice is there twice. */
  readonly changed: readonly Alert[];
}

/**
 * Events are stamped before they get their place in the order, and by several clocks: what is remembered outlives its
 * window by this, so that a late stamp finds what it would have found.
 */
export const CLOCK_SKEW_MS = 60_000;

export function reduceDelivery(
  state: ProjectState,
  head: DeliveryHead,
  { items }: ParsedDelivery,
  rules: FoldRules,
): Reduction {
  const position = ++state.position;
  state.retryWindowMs = Math.max(state.retryWindowMs, rules.retryWindowMs);
  state.namedWindowMs = Math.max(state.namedWindowMs, rules.namedWindowMs);
  const applied = {
    position,
    outcomes: [] as Outcome[],
    iids: [] as number[],
    retryKeys: [] as string[],
    changed: [] as Alert[],
  };
  items.forEach((item, index) => {
    if (item === null) {
      applied.outcomes.push('refused');
      applied.iids.push(0);
      applied.retryKeys.push('');
      return;
    }
    const open = item.fingerprint === '' ? null : (state.open.get(item.fingerprint) ?? null);
    const memory = isNamed(item.retryKey) ? state.named : state.counted;
    const before = memory.get(item.retryKey) ?? null;
    const occurrence = {
      item,
      at: head.at,
      project: state.project,
      integration: head.integration,
      position,
      index,
    };
    const decision = decideItem(open, before, occurrence, state.lastIid + 1, rules);
    remember(state, item.retryKey, decision, rules.retryKeysMax, head.at);
    keep(state, decision.alert);
    applied.outcomes.push(decision.outcome);
    // What a named delivery created it also says when it is sent again.
    const again = decision.outcome === 'retried' && isNamed(item.retryKey) ? (before?.created ?? 0) : 0;
    applied.iids.push(decision.alert?.iid ?? again);
    applied.retryKeys.push(decision.counted === null ? '' : item.retryKey);
    if (decision.alert) applied.changed.push(decision.alert);
  });
  return { ...applied, created: createdBy(items, applied.outcomes, applied.iids) };
}

/** What the sender of a delivery is told of it: the alerts that it created. */
export function createdBy(
  items: readonly (AlertItem | null)[],
  outcomes: readonly string[],
  iids: readonly number[],
): CreatedAlert[] {
  return items.flatMap((item, i) => {
    const iid = iids[i] ?? 0;
    const tells = outcomes[i] === 'created' || outcomes[i] === 'retried';
    return item !== null && tells && iid > 0 ? [{ iid, title: item.title }] : [];
  });
}

/** The alert must be among those by number; one that nobody knows is refused. */
export function reduceAction(state: ProjectState, head: ActionHead): Reduction {
  const position = ++state.position;
  const alert = state.byIid.get(head.iid);
  const open = alert && alert.fingerprint !== '' ? (state.open.get(alert.fingerprint) ?? null) : null;
  const decision: Decision = alert
    ? decideAction(alert, open, { at: head.at, position, change: head.change })
    : { outcome: 'refused', alert: null, counted: null };
  keep(state, decision.alert);
  return {
    position,
    outcomes: [decision.outcome],
    iids: [head.iid],
    retryKeys: [''],
    created: [],
    changed: decision.alert ? [decision.alert] : [],
  };
}

/** Puts an alert where later events look for it. */
export function keep(state: ProjectState, alert: Alert | null): void {
  if (alert === null) return;
  state.lastIid = Math.max(state.lastIid, alert.iid);
  putLast(state.byIid, alert.iid, alert);
  if (alert.fingerprint === '') return;
  if (isOpen(alert)) putLast(state.open, alert.fingerprint, alert);
  else if (state.open.get(alert.fingerprint)?.iid === alert.iid) {
    state.open.delete(alert.fingerprint);
  }
}

/** Fewer are never forgotten, so that their order does not matter. */
const ORDERED_FROM = 5000;

/** Behind all others, so that what was asked for longest ago is first to be forgotten. */
function putLast<Key>(among: Map<Key, Alert>, key: Key, alert: Alert): void {
  if (among.size >= ORDERED_FROM) among.delete(key);
  among.set(key, alert);
}

/** Takes down that a delivery was counted, unless one that was accepted later is known already. */
export function recall(memory: Map<string, Counted>, key: string, counted: Counted): void {
  const before = memory.get(key);
  memory.delete(key);
  memory.set(key, before !== undefined && before.at > counted.at ? before : counted);
}

function remember(
  state: ProjectState,
  key: string,
  { counted }: Decision,
  keysMax: number,
  now: number,
): void {
  if (key === '' || counted === null) return;
  const memory = isNamed(key) ? state.named : state.counted;
  recall(memory, key, counted);
  const window = isNamed(key) ? state.namedWindowMs : state.retryWindowMs;
  for (const [oldest, { at }] of memory) {
    if (now - at < window + CLOCK_SKEW_MS && memory.size <= keysMax) break;
    memory.delete(oldest);
  }
}
