import { type Alert, isOpen, type Outcome } from './alert.ts';
import type { ActionHead, DeliveryHead, ReadDelivery } from './delivery.ts';
import { isNamed } from './delivery.ts';
import { act, type Counted, type Decision, type GroupingRules, group } from './grouping.ts';

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
}

export const emptyState = (project: number): ProjectState => ({
  project,
  position: 0,
  lastIid: 0,
  open: new Map(),
  byIid: new Map(),
  counted: new Map(),
  named: new Map(),
});

/** What an event did. Lists are by item. */
export interface Applied {
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly iids: readonly number[];
  readonly retryKeys: readonly string[];
  /** Alerts that the request created, also when it is a named one that was sent again. */
  readonly created: readonly { readonly iid: number; readonly title: string }[];
  /** Alerts as they are now; one that changed twice is there twice. */
  readonly changed: readonly Alert[];
}

export interface FoldRules extends GroupingRules {
  /** Deliveries of a project that are remembered for their retries; the oldest are forgotten first. */
  readonly retryKeysMax: number;
}

/**
 * Events are stamped before they get their place in the order, and by several clocks: what is remembered outlives its
 * window by this, so that a late stamp finds what it would have found.
 */
export const CLOCK_SKEW_MS = 60_000;

export function applyDelivery(
  state: ProjectState,
  head: DeliveryHead,
  { items }: ReadDelivery,
  rules: FoldRules,
): Applied {
  const position = ++state.position;
  const applied = {
    position,
    outcomes: [] as Outcome[],
    iids: [] as number[],
    retryKeys: [] as string[],
    created: [] as { iid: number; title: string }[],
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
    const decision = group(open, before, occurrence, state.lastIid + 1, rules);
    remember(memory, item.retryKey, decision, rules, head.at);
    keep(state, decision.alert);
    applied.outcomes.push(decision.outcome);
    applied.iids.push(decision.alert?.iid ?? 0);
    applied.retryKeys.push(decision.counted === null ? '' : item.retryKey);
    if (decision.alert) applied.changed.push(decision.alert);
    if (decision.outcome === 'created') applied.created.push(summary(decision.alert as Alert));
    if (decision.outcome === 'retried' && isNamed(item.retryKey) && before !== null && before.created > 0) {
      applied.created.push({ iid: before.created, title: item.title });
    }
  });
  return applied;
}

const summary = ({ iid, title }: Alert) => ({ iid, title });

/** The alert must be among those by number; one that nobody knows is refused. */
export function applyAction(state: ProjectState, head: ActionHead): Applied {
  const position = ++state.position;
  const alert = state.byIid.get(head.iid);
  const open = alert && alert.fingerprint !== '' ? (state.open.get(alert.fingerprint) ?? null) : null;
  const decision: Decision = alert
    ? act(alert, open, { at: head.at, position, change: head.change })
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
  state.byIid.delete(alert.iid);
  state.byIid.set(alert.iid, alert);
  if (alert.fingerprint === '') return;
  if (isOpen(alert)) {
    // Behind all others, so that what was asked for longest ago is first to be forgotten.
    state.open.delete(alert.fingerprint);
    state.open.set(alert.fingerprint, alert);
  } else if (state.open.get(alert.fingerprint)?.iid === alert.iid) {
    state.open.delete(alert.fingerprint);
  }
}

function remember(
  memory: Map<string, Counted>,
  key: string,
  { counted }: Decision,
  rules: FoldRules,
  now: number,
): void {
  if (key === '' || counted === null) return;
  memory.delete(key);
  memory.set(key, counted);
  const window = isNamed(key) ? rules.namedWindowMs : rules.retryWindowMs;
  for (const [oldest, { at }] of memory) {
    if (now - at < window + CLOCK_SKEW_MS && memory.size <= rules.retryKeysMax) break;
    memory.delete(oldest);
  }
}
