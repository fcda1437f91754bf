import type { ParsedDelivery, ParsedEvent } from '../formats/delivery.ts';
import type { Alert, AlertItem, Outcome } from '../model/alert.ts';
import type { ActionChange, ActionHead, DeliveryHead } from '../model/event.ts';
import { isNamed } from '../model/retry-key.ts';
import { type Decision, decideAction, decideItem } from './grouping.ts';
import { countedBy, expireCounted, type ProjectState, putAlert, putCounted } from './project-state.ts';

/** An alert in the answer to a delivery. For a retry with an idempotency key, the first attempt created it. */
export interface CreatedAlert {
  readonly iid: number;
  readonly title: string;
}

/** The result of an event. `outcomes`, `iids` and `retryKeys` have an entry for each item. */
export interface Reduction {
  readonly position: number;
  readonly outcomes: readonly Outcome[];
  readonly iids: readonly number[];
  readonly retryKeys: readonly string[];
  readonly created: readonly CreatedAlert[];
  /** New versions of alerts. An alert that changed twice is in the list twice. */
  readonly changed: readonly Alert[];
  /** The part of an action that changed something; absent if nothing did. */
  readonly change?: ActionChange;
  /** Whether an action reopened a resolved alert. */
  readonly reopens?: boolean;
}

/** For each item of a stored event: the number of the alert that it created, or 0. */
export type StoredNumbers = readonly number[];

export const createdNumbersIn = ({
  outcomes,
  iids,
}: {
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}): StoredNumbers => outcomes.map((outcome, item) => (outcome === 'created' ? (iids[item] ?? 0) : 0));

/**
 * Reduces an event into the state of its project. The state must have the alerts that the event needs. A stored event
 * reuses the numbers of its alerts, because users, notes, incidents and receivers refer to them.
 */
export function reduceEvent(
  state: ProjectState,
  { head, delivery }: ParsedEvent,
  numbers: StoredNumbers = [],
): Reduction {
  return head.kind === 'action'
    ? reduceAction(state, head)
    : reduceDelivery(state, head, { items: delivery?.items ?? [], numbers });
}

function reduceDelivery(
  state: ProjectState,
  head: DeliveryHead,
  { items, numbers }: { readonly items: ParsedDelivery['items']; readonly numbers: StoredNumbers },
): Reduction {
  const { rules } = head;
  const position = ++state.position;
  state.counted.windowMs = Math.max(state.counted.windowMs, rules.retryWindowMs);
  state.named.windowMs = Math.max(state.named.windowMs, rules.namedWindowMs);
  const outcomes: Outcome[] = [];
  const iids: number[] = [];
  const retryKeys: string[] = [];
  const changed: Alert[] = [];
  const withoutAlert = { at: head.at, created: 0, position, isUnmatched: false };
  const unmatched = { ...withoutAlert, isUnmatched: true };
  items.forEach((item, index) => {
    if (item === null) {
      outcomes.push('refused');
      iids.push(0);
      retryKeys.push('');
      return;
    }
    const { fingerprint, retryKey } = item;
    const open = fingerprint === '' ? null : (state.open.get(fingerprint) ?? null);
    const before = countedBy(state, retryKey).byKey.get(retryKey) ?? null;
    const { project } = state;
    const { integration, at } = head;
    const occurrence = { item, at, withoutAlert, unmatched, project, integration, position, index };
    const nextIid = numbers[index] || state.lastIid + 1;
    const { outcome, alert, counted } = decideItem(open, before, occurrence, nextIid, rules);
    if (retryKey !== '' && counted !== null) putCounted(state, retryKey, counted);
    putAlert(state, alert);
    outcomes.push(outcome);
    // A retry with an idempotency key is answered with the alert that the first attempt created.
    const createdBefore = outcome === 'retried' && isNamed(retryKey) ? (before?.created ?? 0) : 0;
    iids.push(alert?.iid ?? createdBefore);
    retryKeys.push(counted === null ? '' : retryKey);
    if (alert) changed.push(alert);
  });
  expireCounted(state, head.at);
  return { position, outcomes, iids, retryKeys, changed, created: createdBy(items, outcomes, iids) };
}

/** The alerts in the answer to a delivery: those that it created, or that the first attempt of a retry created. */
export function createdBy(
  items: readonly (AlertItem | null)[],
  outcomes: readonly string[],
  iids: readonly number[],
): CreatedAlert[] {
  return items.flatMap((item, i) => {
    const iid = iids[i] ?? 0;
    const isListed = outcomes[i] === 'created' || outcomes[i] === 'retried';
    return item !== null && isListed && iid > 0 ? [{ iid, title: item.title }] : [];
  });
}

/** An action on an alert that does not exist is refused. */
function reduceAction(state: ProjectState, head: ActionHead): Reduction {
  const position = ++state.position;
  const alert = state.byIid.get(head.iid);
  const open = alert && alert.fingerprint !== '' ? (state.open.get(alert.fingerprint) ?? null) : null;
  const decision: Decision = alert
    ? decideAction(alert, open, head, position)
    : { outcome: 'refused', alert: null, counted: null };
  putAlert(state, decision.alert);
  return {
    position,
    outcomes: [decision.outcome],
    iids: [head.iid],
    retryKeys: [''],
    created: [],
    changed: decision.alert ? [decision.alert] : [],
    ...(decision.change && { change: decision.change }),
    ...(decision.reopens && { reopens: true }),
  };
}
