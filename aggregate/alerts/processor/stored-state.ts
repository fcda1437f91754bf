import { inParts, raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import type { Store } from '../../../infra/ports.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { decodeHead, type EventHead } from '../model/event.ts';
import { isNamed } from '../model/retry-key.ts';
import type { FoldRules } from '../model/rules.ts';
import { alertEvents, alerts } from '../model/tables.ts';
import {
  CLOCK_SKEW_MS,
  emptyState,
  IDS_MAX,
  type ProjectState,
  putAlert,
  putCounted,
} from '../reducer/project-state.ts';

// Reads events and alerts from the store.

export interface AlertEventRow {
  readonly position: number;
  readonly head: EventHead;
  readonly body: Buffer;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

const EVENTS_PER_READ = 500;

/** Events of a project after a position, in order; reads a limited number at a time. */
export async function* eventsAfter(
  store: Store,
  project: number,
  position: number,
  until = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<AlertEventRow> {
  for (let after = position; ; ) {
    const rows = await store.rows<{
      position: number;
      head: string;
      body: string;
      outcomes: string[];
      iids: number[];
    }>(
      sql`SELECT position, head, body, outcomes, iids FROM ${alertEvents} FINAL
        WHERE project = ${project} AND position > ${after} AND position <= ${until}
        ORDER BY position LIMIT ${EVENTS_PER_READ}`,
    );
    for (const row of rows) {
      yield { ...row, head: decodeHead(row.head), body: Buffer.from(row.body) };
    }
    if (rows.length < EVENTS_PER_READ) return;
    after = rows.at(-1)?.position ?? after;
  }
}

/** How far the tables are with a project. */
export interface StoredProgress {
  /** Position of the newest event. */
  readonly eventPosition: number;
  /** Position of the newest event that an alert was changed by. */
  readonly alertPosition: number;
  readonly lastIid: number;
}

export async function storedProgressOf(store: Store, project: number): Promise<StoredProgress> {
  const [[event], [alert]] = await Promise.all([
    store.rows<{ newest: number }>(
      sql`SELECT max(position) AS newest FROM ${alertEvents} WHERE project = ${project}`,
    ),
    store.rows<{ newest: number; iid: number }>(
      sql`SELECT max(position) AS newest, max(iid) AS iid FROM ${alerts} WHERE project = ${project}`,
    ),
  ]);
  return { eventPosition: event?.newest ?? 0, alertPosition: alert?.newest ?? 0, lastIid: alert?.iid ?? 0 };
}

export const isSameProgress = (a: StoredProgress, b: StoredProgress): boolean =>
  a.eventPosition === b.eventPosition && a.alertPosition === b.alertPosition;

export interface LoadedState {
  readonly state: ProjectState;
  /** Whether it has every unresolved alert of the project. */
  readonly isComplete: boolean;
}

/**
 * The state of a project as of the newest event that is in the alerts table; later events must be reduced into it.
 * Valid only if no process wrote meanwhile: the caller compares the progress before and after.
 */
export async function loadState(
  store: Store,
  project: number,
  { eventPosition, alertPosition, lastIid }: StoredProgress,
  rules: FoldRules,
  openAlertsMax: number,
): Promise<LoadedState> {
  const state = emptyState(project);
  state.position = (await areAlertsCurrent(store, project, alertPosition)) ? eventPosition : alertPosition;
  state.lastIid = lastIid;
  const open = await readAlerts(
    store,
    sql`project = ${project} AND status != 'resolved' AND fingerprint != ''`,
    openAlertsMax + 1,
  );
  for (const alert of open) putAlert(state, alert);
  await loadWindows(store, state, rules);
  await loadCounted(store, state, rules);
  return { state, isComplete: open.length <= openAlertsMax };
}

/** Outcomes that change an alert; events without any of them need not be reduced again. */
const CHANGING_OUTCOMES: readonly Outcome[] = ['created', 'grouped', 'resolved', 'changed'];

async function areAlertsCurrent(store: Store, project: number, alertPosition: number): Promise<boolean> {
  const rows = await store.rows(
    sql`SELECT 1 FROM ${alertEvents} WHERE project = ${project} AND position > ${alertPosition}
      AND hasAny(outcomes, ${CHANGING_OUTCOMES}) LIMIT 1`,
  );
  return rows.length === 0;
}

/** The windows of the settings, or wider ones of the newest deliveries. */
async function loadWindows(store: Store, state: ProjectState, rules: FoldRules): Promise<void> {
  const [row] = await store.rows<{ retry: number; named: number }>(
    sql`SELECT max(JSONExtractUInt(head, 'rules', 'retryWindowMs')) AS retry,
        max(JSONExtractUInt(head, 'rules', 'namedWindowMs')) AS named
      FROM ${alertEvents} WHERE project = ${state.project} AND position > ${state.position - IDS_MAX}`,
  );
  state.retryWindowMs = Math.max(rules.retryWindowMs, row?.retry ?? 0);
  state.namedWindowMs = Math.max(rules.namedWindowMs, row?.named ?? 0);
}

/** Ids of the newest events of a project up to a position, oldest first, and the last offset of each partition. */
export async function newestEvents(
  store: Store,
  project: number,
  position: number,
): Promise<{ ids: string[]; lastOffsets: Map<number, number> }> {
  const [ids, offsets] = await Promise.all([
    store.rows<{ id: string }>(
      sql`SELECT id FROM ${alertEvents} FINAL WHERE project = ${project}
        AND position > ${position - IDS_MAX} AND position <= ${position} ORDER BY position`,
    ),
    store.rows<{ log_partition: number; last: number }>(
      sql`SELECT log_partition, max(log_offset) AS last FROM ${alertEvents}
        WHERE project = ${project} AND position <= ${position} GROUP BY log_partition`,
    ),
  ]);
  return {
    ids: ids.map(({ id }) => id),
    lastOffsets: new Map(offsets.map(({ log_partition, last }) => [log_partition, last])),
  };
}

/** Ids of the events of a project up to a position whose log offsets are in a range, both ends included. */
export async function idsBetween(
  store: Store,
  project: number,
  position: number,
  range: { readonly partition: number; readonly from: number; readonly until: number },
): Promise<string[]> {
  const rows = await store.rows<{ id: string }>(
    sql`SELECT id FROM ${alertEvents} WHERE project = ${project} AND position <= ${position}
      AND log_partition = ${range.partition} AND log_offset BETWEEN ${range.from} AND ${range.until}`,
  );
  return rows.map(({ id }) => id);
}

export interface StoredOutcome {
  readonly outcomes: readonly Outcome[];
  readonly iids: readonly number[];
}

/** The newest events of a project, among which an event that was accepted moments ago is looked up. */
const EVENTS_SEARCHED = 100_000;

/** Outcomes of recent events by id; ids that are not stored are left out. */
export async function outcomesOf(
  store: Store,
  project: number,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const found = new Map<string, StoredOutcome>();
  for (const some of inParts(ids)) {
    const rows = await store.rows<StoredOutcome & { readonly id: string }>(
      sql`SELECT id, outcomes, iids FROM ${alertEvents} WHERE project = ${project} AND id IN ${some}
        AND position > (SELECT max(position) FROM ${alertEvents} WHERE project = ${project}) - ${EVENTS_SEARCHED}`,
    );
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/**
 * Deliveries that were counted before the state's position and that the next event may be a retry of. The next event
 * is the oldest one that is not reduced yet, if there is one.
 */
async function loadCounted(store: Store, state: ProjectState, rules: FoldRules): Promise<void> {
  const { project, position } = state;
  const [bounds] = await store.rows<{ next: number }>(
    sql`SELECT if(max(position) > ${position}, minIf(at, position > ${position}), max(at)) AS next
      FROM ${alertEvents} WHERE project = ${project}`,
  );
  const { retryWindowMs, namedWindowMs } = state;
  const since = (windowMs: number) => (bounds?.next ?? 0) - windowMs - CLOCK_SKEW_MS;
  const rows = await store.rows<{ at: number; key: string; outcome: string; iid: number }>(
    sql`SELECT at, item.1 AS key, item.2 AS outcome, item.3 AS iid FROM ${alertEvents} FINAL
      ARRAY JOIN arrayZip(retry_keys, outcomes, iids) AS item
      WHERE project = ${project} AND position <= ${position} AND key != ''
        AND at >= ${since(Math.max(retryWindowMs, namedWindowMs))}
      ORDER BY ${raw('alert_events.position')} DESC LIMIT ${2 * rules.retryKeysMax}`,
  );
  for (const { at, key, outcome, iid } of rows.reverse()) {
    if (!isNamed(key) && at < since(retryWindowMs)) continue;
    putCounted(state, key, { at, created: outcome === 'created' ? iid : 0 });
  }
}

/** Alerts that meet a condition, at most `limit` of them. */
export function readAlerts(store: Store, where: Sql, limit: number): Promise<Alert[]> {
  return store.rows<Alert>(sql`SELECT * FROM ${alerts} FINAL WHERE ${where} LIMIT ${limit}`);
}

/** Projects whose alerts lack their newest events; of one partition of the log, or of all. */
export async function laggingProjects(store: Store, partition?: number): Promise<number[]> {
  const rows = await store.rows<{ project: number }>(
    sql`SELECT DISTINCT project FROM ${alertEvents} AS events
      LEFT JOIN (SELECT project, max(position) AS reduced FROM ${alerts} GROUP BY project) AS newest USING (project)
      WHERE position > reduced AND hasAny(outcomes, ${CHANGING_OUTCOMES})
        AND ${partition === undefined ? sql`1` : sql`log_partition = ${partition}`}
      ORDER BY project`,
  );
  return rows.map(({ project }) => project);
}
