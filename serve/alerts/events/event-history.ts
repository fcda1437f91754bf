import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import { HOUR_MS } from '../../../infra/days.ts';
import type { Store, Traceparent } from '../../../infra/ports.ts';
import { join, sql } from '../../../infra/sql.ts';
import { isTracingEnabled } from '../../../infra/tracing/start-tracing.ts';

// Reads changes of alerts from the stored events. Consumers rely on these rows, never on the memory of a process.

/** Changes of an alert that webhooks and on-call tools are notified of. */
export const NOTIFIED_CHANGES = ['created', 'raised', 'acknowledged', 'resolved'] as const;
export type NotifiedChangeName = (typeof NOTIFIED_CHANGES)[number];

/** A change of an alert, as an event at this position recorded it. */
export interface StoredAlertChange {
  readonly position: number;
  /** Index in the event; a delivery may change several alerts. */
  readonly item: number;
  /** When the event was accepted. */
  readonly at: number;
  readonly name: NotifiedChangeName | 'reopened' | 'triggered' | 'ignored';
  readonly iid: number;
  /** Id of the user who made it; '' for the source. */
  readonly by: string;
}

/** A change that webhooks and on-call tools are notified of. */
export interface NotifiedChange extends StoredAlertChange {
  readonly name: NotifiedChangeName;
}

interface StoredAlertChanges {
  readonly changes: readonly StoredAlertChange[];
  /** The next read continues after this position. */
  readonly position: number;
  /** True if a limit was reached, so more changes may be stored. */
  readonly isFull: boolean;
}

/**
 * Events are stored before the alerts that they create. Consumers retry at this interval. They give up on a missing
 * alert when its event is older than ALERT_WAIT_MS_MAX.
 */
export const ALERT_RETRY_MS = 250;
export const ALERT_WAIT_MS_MAX = HOUR_MS;

/** Outcomes that can change an alert. */
const OUTCOMES = ['created', 'raised', 'acknowledged', 'resolved', 'changed'];

interface EventRow {
  readonly position: number;
  readonly at: number;
  /** Only actions have a status, a user, and a flag for reopening a resolved alert. */
  readonly status: string;
  readonly reopens: boolean;
  readonly by: string;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

/** Limit of items per read. The last event may exceed it, because a delivery can have thousands of items. */
const ITEMS_MAX = 1000;

/** The changes of a project after a position, of at most `eventsMax` events. */
export async function changesAfter(
  store: Store,
  project: number,
  position: number,
  eventsMax: number,
): Promise<StoredAlertChanges> {
  const [stored] = await store.rows<{ newest: number }>(
    sql`SELECT max(position) AS newest FROM ${alertEvents} WHERE project = ${project} AND position > ${position}`,
  );
  const until = stored?.newest ?? 0;
  if (until <= position) return { changes: [], position, isFull: false };
  const rows = await store.rows<EventRow>(
    sql`SELECT position, at, status, reopens, by, outcomes, iids FROM (
        SELECT *, sum(length(iids)) OVER (ORDER BY position ROWS UNBOUNDED PRECEDING) AS items
        FROM (SELECT position, at, if(kind = 'action', JSONExtractString(head, 'change', 'status'), '') AS status,
            kind = 'action' AND JSONExtractBool(head, 'reopens') AS reopens,
            if(kind = 'action', JSONExtractString(head, 'by'), '') AS by, outcomes, iids
          FROM ${alertEvents} FINAL
          WHERE project = ${project} AND position > ${position} AND position <= ${until} AND hasAny(outcomes, ${OUTCOMES})
          ORDER BY position LIMIT ${eventsMax}))
      WHERE items < ${ITEMS_MAX} + length(iids) ORDER BY position`,
  );
  const items = rows.reduce((sum, { iids }) => sum + iids.length, 0);
  const isFull = rows.length === eventsMax || items >= ITEMS_MAX;
  return {
    changes: rows.flatMap(changesIn),
    position: isFull ? (rows.at(-1)?.position ?? until) : until,
    isFull,
  };
}

function changesIn({ position, at, status, reopens, by, outcomes, iids }: EventRow): StoredAlertChange[] {
  return outcomes.flatMap((outcome, item): StoredAlertChange[] => {
    const change = { position, item, at, iid: iids[item] ?? 0, by };
    const name = NOTIFIED_CHANGES.find((one) => one === outcome);
    if (name !== undefined) return [{ ...change, name }];
    if (outcome !== 'changed') return [];
    const names: StoredAlertChange['name'][] = reopens ? ['reopened'] : [];
    if (status === 'acknowledged' || status === 'ignored') names.push(status);
    else if (status === 'triggered' && !reopens) names.push(status);
    return names.map((name) => ({ ...change, name }));
  });
}

const PROJECTS_PER_STATEMENT = 200;

/** The projects that have changes after the given positions. */
export async function projectsWithChanges(
  store: Store,
  positions: ReadonlyMap<number, number>,
): Promise<number[]> {
  const all = [...positions];
  const found: number[] = [];
  for (let i = 0; i < all.length; i += PROJECTS_PER_STATEMENT) {
    const ranges = all
      .slice(i, i + PROJECTS_PER_STATEMENT)
      .map(([project, position]) => sql`(project = ${project} AND position > ${position})`);
    const rows = await store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${alertEvents}
        WHERE (${join(ranges, ' OR ')}) AND hasAny(outcomes, ${OUTCOMES})`,
    );
    for (const { project } of rows) found.push(project);
  }
  return found;
}

/** Trace contexts of the requests that sent the events, by position. Empty without tracing. */
export async function tracesOf(
  store: Store,
  project: number,
  changes: readonly Pick<StoredAlertChange, 'position'>[],
): Promise<ReadonlyMap<number, Traceparent>> {
  if (!isTracingEnabled() || changes.length === 0) return new Map();
  const positions = [...new Set(changes.map(({ position }) => position))];
  const rows = await store.rows<{ position: number; traceparent: string }>(
    sql`SELECT position, JSONExtractString(head, 'traceparent') AS traceparent FROM ${alertEvents} FINAL
      WHERE project = ${project} AND position IN ${positions} AND traceparent != ''`,
  );
  return new Map(rows.map(({ position, traceparent }) => [position, traceparent]));
}

/** The newest position of a project. */
export async function newestPosition(store: Store, project: number): Promise<number> {
  const [row] = await store.rows<{ newest: number }>(
    sql`SELECT max(position) AS newest FROM ${alertEvents} WHERE project = ${project}`,
  );
  return row?.newest ?? 0;
}
