import { type Alert, type AlertItem, type AlertStatus, isOpen, type Outcome, worst } from '../model/alert.ts';
import { isNamed } from '../model/retry-key.ts';
import type { GroupingRules } from '../model/rules.ts';

// What an event does to an alert: values and a clock in, values out. Nothing here knows where they are kept.

/** A delivery that was counted: when, and what it made. */
export interface Counted {
  readonly at: number;
  /** The alert that it created; 0 when it created none. */
  readonly created: number;
}

export interface Occurrence {
  readonly item: AlertItem;
  readonly at: number;
  readonly project: number;
  readonly integration: string;
  /** Place of the event among those of the project, and of the item in it. */
  readonly position: number;
  readonly index: number;
}

export interface Decision {
  readonly outcome: Outcome;
  /** The alert that it concerns, as it is from now on; null when there is none. */
  readonly alert: Alert | null;
  /** To be remembered under the item's retry key. */
  readonly counted: Counted | null;
}

/**
 * Decides on one item. `open` is the unresolved alert of its fingerprint, `before` the delivery that was counted
 * last under its retry key, `nextIid` what a new alert would be numbered.
 */
export function decideItem(
  open: Alert | null,
  before: Counted | null,
  occurrence: Occurrence,
  nextIid: number,
  rules: GroupingRules,
): Decision {
  const { item, at } = occurrence;
  if (before !== null && isRetry(before, item, at, rules)) {
    return { outcome: 'retried', alert: null, counted: null };
  }
  if (item.recovers) {
    if (open === null) return { outcome: 'unmatched', alert: null, counted: { at, created: 0 } };
    return { outcome: 'resolved', alert: recovered(open, occurrence), counted: { at, created: 0 } };
  }
  if (open !== null) {
    return { outcome: 'grouped', alert: repeated(open, occurrence), counted: { at, created: 0 } };
  }
  const alert = newAlert(occurrence, nextIid);
  return { outcome: 'created', alert, counted: { at, created: nextIid } };
}

/** Clocks of several servers may differ a little, so the window is one of distance. */
function isRetry(before: Counted, { retryKey }: AlertItem, at: number, rules: GroupingRules): boolean {
  const window = isNamed(retryKey) ? rules.namedWindowMs : rules.retryWindowMs;
  return retryKey !== '' && Math.abs(at - before.at) < window;
}

function newAlert({ item, at, project, integration, position, index }: Occurrence, iid: number): Alert {
  return {
    project,
    iid,
    fingerprint: item.fingerprint,
    integration,
    title: item.title,
    description: item.description,
    severity: item.severity,
    status: 'triggered',
    service: item.service,
    tool: item.tool,
    hosts: item.hosts,
    environment: item.environment,
    query: item.query,
    runbook: item.runbook,
    y_label: item.yLabel,
    incident_markdown: item.incidentMarkdown,
    started_ms: item.startedMs || at,
    ended_ms: 0,
    events: 1,
    created_ms: at,
    seen_ms: at,
    updated_ms: at,
    acknowledged_ms: 0,
    assignees: [],
    incident: 0,
    created_position: position,
    created_item: index,
    position,
  };
}

/** One more of the same: counted, never less severe than before. */
function repeated(open: Alert, { item, at, position }: Occurrence): Alert {
  return {
    ...open,
    events: open.events + 1,
    severity: worst(open.severity, item.severity),
    seen_ms: Math.max(open.seen_ms, at),
    updated_ms: at,
    position,
  };
}

function recovered(open: Alert, { item, at, position }: Occurrence): Alert {
  return { ...open, status: 'resolved', ended_ms: item.endedMs || at, updated_ms: at, position };
}

export interface Action {
  readonly at: number;
  readonly position: number;
  readonly change: {
    readonly status?: AlertStatus;
    readonly assignees?: readonly string[];
    readonly incident?: number;
  };
}

/**
 * Decides on what somebody does to an alert. `open` is the unresolved alert of the same fingerprint: a resolved one
 * cannot come back beside it.
 */
export function decideAction(alert: Alert, open: Alert | null, { at, position, change }: Action): Decision {
  const status = change.status ?? alert.status;
  const reopens = !isOpen(alert) && status !== 'resolved';
  if (reopens && open !== null && open.iid !== alert.iid) {
    return { outcome: 'refused', alert: null, counted: null };
  }
  const resolves = isOpen(alert) && status === 'resolved';
  const next: Alert = {
    ...alert,
    status,
    ended_ms: resolves ? at : reopens ? 0 : alert.ended_ms,
    acknowledged_ms: status === 'acknowledged' ? alert.acknowledged_ms || at : alert.acknowledged_ms,
    assignees: change.assignees ?? alert.assignees,
    incident: change.incident ?? alert.incident,
    updated_ms: at,
    position,
  };
  return { outcome: resolves ? 'resolved' : 'changed', alert: next, counted: null };
}
