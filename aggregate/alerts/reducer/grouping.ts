import { isDeepStrictEqual } from 'node:util';
import {
  type Alert,
  type AlertItem,
  DEFAULT_TITLE,
  isOpen,
  moreSevere,
  type Outcome,
} from '../model/alert.ts';
import type { ActionChange, ActionHead } from '../model/event.ts';
import { isNamed } from '../model/retry-key.ts';
import type { GroupingRules } from '../model/rules.ts';
import type { CountedDelivery } from './project-state.ts';

// The rules of grouping: pure functions of an alert, an event and its time.

interface Occurrence {
  readonly item: AlertItem;
  readonly at: number;
  /**
   * Remembered for items that create no alert. The items of a delivery share the object, because a million of them may be
   * in memory.
   */
  readonly withoutAlert: CountedDelivery;
  /** Remembered for an item that finds no open alert to resolve or acknowledge. */
  readonly unmatched: CountedDelivery;
  readonly project: number;
  readonly integration: string;
  /** Position of the event in its project, and index of the item in its delivery. */
  readonly position: number;
  readonly index: number;
}

export interface Decision {
  readonly outcome: Outcome;
  /** The changed alert, or null. */
  readonly alert: Alert | null;
  /** Remembered under the item's retry key to recognize retries; null if nothing is remembered. */
  readonly counted: CountedDelivery | null;
  /** The part of an action that changes something. */
  readonly change?: ActionChange;
  /** Whether an action reopens a resolved alert. */
  readonly reopens?: boolean;
}

/**
 * Decides the outcome of one item. `open` is the unresolved alert with its fingerprint, `before` the last delivery with
 * its retry key, and `nextIid` the number of an alert that it creates.
 */
export function decideItem(
  open: Alert | null,
  before: CountedDelivery | null,
  occurrence: Occurrence,
  nextIid: number,
  rules: GroupingRules,
): Decision {
  const { item, at, withoutAlert, unmatched, position } = occurrence;
  if (item.effect === 'ignore') return { outcome: 'ignored', alert: null, counted: null };
  if (item.effect === 'heartbeat') return { outcome: 'heartbeat', alert: null, counted: null };
  const isRepeated = before !== null && isRetry(before, item, at, rules);
  if (isRepeated && !(before.isUnmatched && open !== null && beganWith(open, item))) {
    return { outcome: 'retried', alert: null, counted: null };
  }
  if (item.effect !== 'fire') {
    if (open === null) return { outcome: 'unmatched', alert: null, counted: unmatched };
    if (item.effect === 'acknowledge') return acknowledge(open, occurrence);
    return { outcome: 'resolved', alert: recovered(open, occurrence), counted: withoutAlert };
  }
  if (open !== null) {
    const alert = repeated(open, occurrence);
    // An alert that a member ignores notifies nobody.
    const isRaised = alert.severity !== open.severity && open.status !== 'ignored';
    return { outcome: isRaised ? 'raised' : 'grouped', alert, counted: withoutAlert };
  }
  const alert = newAlert(occurrence, nextIid);
  return { outcome: 'created', alert, counted: { at, created: nextIid, position, isUnmatched: false } };
}

/**
 * Whether a repeated resolve belongs to an open alert. If the first resolve found no alert, the alert may have arrived
 * after it. An alert with another start began after the resolve and must stay open.
 */
const beganWith = ({ source_started_ms }: Alert, { startedMs }: AlertItem): boolean =>
  startedMs !== 0 && startedMs === source_started_ms;

/** Uses the absolute difference, because clocks of servers differ and a retry may have the earlier time. */
function isRetry(
  before: CountedDelivery,
  { retryKey }: AlertItem,
  at: number,
  rules: GroupingRules,
): boolean {
  const window = isNamed(retryKey) ? rules.namedWindowMs : rules.retryWindowMs;
  return retryKey !== '' && Math.abs(at - before.at) < window;
}

/** Most that a start may be ahead of its acceptance. An end may be further ahead, because ends can be planned. */
const START_AHEAD_MS = 5 * 60_000;
const END_AHEAD_MS = 86_400_000;

/**
 * The time that the source sent, or the time of acceptance. A time far in the future is not used, because it would keep
 * the alert at the top of every list.
 */
const happenedAt = (sourceMs: number, at: number, aheadMs: number): number =>
  sourceMs === 0 || sourceMs > at + aheadMs ? at : sourceMs;

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
    labels: item.labels,
    match_labels: item.matchLabels,
    has_cut_labels: item.hasCutLabels,
    started_ms: happenedAt(item.startedMs, at, START_AHEAD_MS),
    source_started_ms: item.startedMs,
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

/** A repeat replaces texts and labels. It can raise the severity, never lower it. */
function repeated(open: Alert, { item, at, position }: Occurrence): Alert {
  return {
    ...open,
    ...newestTexts(open, item),
    labels: item.labels,
    match_labels: item.matchLabels,
    has_cut_labels: item.hasCutLabels,
    events: open.events + 1,
    severity: moreSevere(open.severity, item.severity),
    seen_ms: Math.max(open.seen_ms, at),
    updated_ms: at,
    position,
  };
}

/** A repeat without a text keeps the old one. */
const newestTexts = (open: Alert, item: AlertItem) => ({
  title: item.title === DEFAULT_TITLE ? open.title : item.title,
  description: item.description || open.description,
  query: item.query || open.query,
  runbook: item.runbook || open.runbook,
  y_label: item.yLabel || open.y_label,
  incident_markdown: item.incidentMarkdown || open.incident_markdown,
});

/** Only a triggered alert can be acknowledged; an ignored one notifies nobody anyway. */
function acknowledge(open: Alert, { at, position, withoutAlert }: Occurrence): Decision {
  if (open.status !== 'triggered') return { outcome: 'unchanged', alert: null, counted: withoutAlert };
  const alert: Alert = {
    ...open,
    status: 'acknowledged',
    acknowledged_ms: open.acknowledged_ms || at,
    updated_ms: at,
    position,
  };
  return { outcome: 'acknowledged', alert, counted: withoutAlert };
}

/** An end before the start counts as the start, because clocks differ. */
const endOf = ({ started_ms }: Alert, endedMs: number): number => Math.max(started_ms, endedMs);

function recovered(open: Alert, { item, at, position }: Occurrence): Alert {
  return {
    ...open,
    status: 'resolved',
    ended_ms: endOf(open, happenedAt(item.endedMs, at, END_AHEAD_MS)),
    updated_ms: at,
    position,
  };
}

/**
 * Decides the outcome of a user's action. `open` is the unresolved alert of the same fingerprint: while it exists, a
 * resolved alert of that fingerprint cannot be reopened.
 */
export function decideAction(
  alert: Alert,
  open: Alert | null,
  { at, change, expected = alert.status }: ActionHead,
  position: number,
): Decision {
  const real = realChange(alert, change);
  const { status = alert.status, assignees = alert.assignees, incident = alert.incident } = real;
  const reopens = !isOpen(alert) && status !== 'resolved';
  if (reopens && open !== null && open.iid !== alert.iid) {
    return { outcome: 'refused', alert: null, counted: null };
  }
  const resolves = isOpen(alert) && status === 'resolved';
  if (Object.keys(real).length === 0 || expected !== alert.status)
    return { outcome: 'unchanged', alert: null, counted: null };
  const next: Alert = {
    ...alert,
    status,
    ended_ms: resolves ? endOf(alert, at) : reopens ? 0 : alert.ended_ms,
    acknowledged_ms: status === 'acknowledged' ? alert.acknowledged_ms || at : alert.acknowledged_ms,
    assignees,
    incident,
    updated_ms: at,
    position,
  };
  return {
    outcome: resolves ? 'resolved' : 'changed',
    alert: next,
    counted: null,
    change: real,
    reopens,
  };
}

/** Removes values that the alert has already. If two users acknowledge it at once, only the first action counts. */
function realChange(alert: Alert, { status, assignees, incident }: ActionChange): ActionChange {
  return {
    ...(status !== undefined && status !== alert.status && { status }),
    ...(assignees !== undefined && !isDeepStrictEqual(assignees, alert.assignees) && { assignees }),
    ...(incident !== undefined && incident !== alert.incident && { incident }),
  };
}
