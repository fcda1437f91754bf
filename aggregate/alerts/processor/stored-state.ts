import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, raw, type Sql, sql } from '../../../infra/sql.ts';
import { type Alert, alertBytes, type Outcome } from '../model/alert.ts';
import { NAMED_PREFIX } from '../model/retry-key.ts';
import type { GroupingRules } from '../model/rules.ts';
import { alertEvents, alerts, deletedEvents } from '../model/tables.ts';
import {
  CLOCK_SKEW_MS,
  emptyState,
  IDS_MAX,
  type ProjectState,
  putAlert,
  putCounted,
} from '../reducer/project-state.ts';
import { alertPages } from './stored-rows.ts';

// Reads events and alerts from the store.

/** The newest positions of a project in the tables. */
export interface StoredProgress {
  /** Position of the newest event. */
  readonly eventPosition: number;
  /** Position of the newest event that changed an alert. */
  readonly alertPosition: number;
  /** The highest alert number so far. */
  readonly lastIid: number;
}

export async function storedProgressOf(store: Store, project: number): Promise<StoredProgress> {
  const [[event], [alert]] = await Promise.all([
    store.rows<{ newest: number; iid: number }>(
      sql`SELECT max(position) AS newest, max(last_iid) AS iid FROM ${alertEvents} WHERE project = ${project}`,
    ),
    store.rows<{ newest: number; iid: number }>(
      sql`SELECT max(position) AS newest, max(iid) AS iid FROM ${alerts} WHERE project = ${project}`,
    ),
  ]);
  const lastIid = Math.max(event?.iid ?? 0, alert?.iid ?? 0);
  return { eventPosition: event?.newest ?? 0, alertPosition: alert?.newest ?? 0, lastIid };
}

export const isSameProgress = (a: StoredProgress, b: StoredProgress): boolean =>
  a.eventPosition === b.eventPosition && a.alertPosition === b.alertPosition;

/**
 * Loads the state of a project at the newest event in the alerts table. The caller reduces later events into the state. The
 * state takes about `bytesMax` bytes. It is valid only if no process wrote meanwhile: the caller compares the progress
 * before and after.
 */
export async function loadState(
  store: Store,
  project: number,
  { eventPosition, alertPosition, lastIid }: StoredProgress,
  rules: GroupingRules,
  bytesMax: number,
): Promise<ProjectState> {
  const state = emptyState(project);
  // Later events that changed no alert need not be reduced again.
  state.position = (await areAlertsCurrent(store, project, alertPosition)) ? eventPosition : alertPosition;
  state.lastIid = lastIid;
  await loadWindows(store, state, rules);
  await loadCounted(store, state, bytesMax / 2);
  await loadOpen(store, state, bytesMax);
  return state;
}

/** Loads unresolved alerts that fit, newest first. */
async function loadOpen(store: Store, state: ProjectState, bytesMax: number): Promise<void> {
  const iids = await store.rows<{ iid: number }>(
    sql`SELECT iid FROM ${alerts} WHERE project = ${state.project} AND fingerprint != ''
      GROUP BY iid HAVING argMax(status, position) != 'resolved' ORDER BY iid DESC LIMIT ${OPEN_MAX}`,
  );
  const { fitting, isAll } = await fittingAlerts(
    store,
    state,
    iids.map(({ iid }) => iid),
    bytesMax,
  );
  state.hasAllOpen = isAll && iids.length < OPEN_MAX;
  // The oldest first, so that the newest are evicted last.
  for (const alert of fitting.sort((a, b) => a.iid - b.iid)) putAlert(state, alert);
}

async function fittingAlerts(
  store: Store,
  state: ProjectState,
  iids: readonly number[],
  bytesMax: number,
): Promise<{ fitting: Alert[]; isAll: boolean }> {
  const fitting: Alert[] = [];
  let { bytes } = state;
  for (const part of chunkForIn(iids)) {
    for await (const page of alertPages(store, state.project, part)) {
      for (const alert of page) {
        bytes += alertBytes(alert);
        if (bytes > bytesMax) return { fitting, isAll: false };
        fitting.push(alert);
      }
    }
  }
  return { fitting, isAll: true };
}

/** Most unresolved alerts of a project that are loaded. */
const OPEN_MAX = 1_000_000;

/** Outcomes that change an alert. Events without one need not be reduced again. */
export const CHANGING_OUTCOMES: readonly Outcome[] = [
  'created',
  'grouped',
  'raised',
  'resolved',
  'acknowledged',
  'changed',
];

async function areAlertsCurrent(store: Store, project: number, alertPosition: number): Promise<boolean> {
  const rows = await store.rows(
    sql`SELECT 1 FROM ${alertEvents} WHERE project = ${project} AND position > ${alertPosition}
      AND hasAny(outcomes, ${CHANGING_OUTCOMES}) LIMIT 1`,
  );
  return rows.length === 0;
}

/** Sets each retry window to the setting, or to the longer window of one of the newest deliveries. */
async function loadWindows(store: Store, state: ProjectState, rules: GroupingRules): Promise<void> {
  const [row] = await store.rows<{ retry: number; named: number }>(
    sql`SELECT max(JSONExtractUInt(head, 'rules', 'retryWindowMs')) AS retry,
        max(JSONExtractUInt(head, 'rules', 'namedWindowMs')) AS named
      FROM ${alertEvents} WHERE project = ${state.project} AND position > ${state.position - IDS_MAX}`,
  );
  state.counted.windowMs = Math.max(rules.retryWindowMs, row?.retry ?? 0);
  state.named.windowMs = Math.max(rules.namedWindowMs, row?.named ?? 0);
}

/**
 * Reads the ids of the newest events up to a position, oldest first; the last offset of each partition; and the time up to
 * which stored events may be missing, because they were deleted.
 */
export async function newestEvents(
  store: Store,
  project: number,
  position: number,
): Promise<{ ids: string[]; lastOffsets: Map<number, number>; deletedBefore: number }> {
  const [ids, offsets, [deleted]] = await Promise.all([
    store.rows<{ id: string }>(
      sql`SELECT id FROM ${alertEvents} FINAL WHERE project = ${project}
        AND position > ${position - IDS_MAX} AND position <= ${position} ORDER BY position`,
    ),
    store.rows<{ log_partition: number; last: number }>(
      sql`SELECT log_partition, max(log_offset) AS last FROM ${alertEvents}
        WHERE project = ${project} AND position <= ${position} GROUP BY log_partition`,
    ),
    store.rows<{ before: number }>(
      sql`SELECT max(before_ms) AS before FROM ${deletedEvents} WHERE project = ${project}`,
    ),
  ]);
  return {
    ids: ids.map(({ id }) => id),
    lastOffsets: new Map(offsets.map(({ log_partition, last }) => [log_partition, last])),
    deletedBefore: deleted?.before ?? 0,
  };
}

/** Ids of events up to a position whose log offsets are in an inclusive range. */
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

/** Number of the newest events that a search for a recent event covers. */
const EVENTS_SEARCHED = 100_000;

/** Outcomes of recent events by id. After a replay these are the outcomes of the replay. Leaves out unknown ids. */
export async function outcomesOf(
  store: Store,
  project: number,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const found = new Map<string, StoredOutcome>();
  for (const some of chunkForIn(ids)) {
    const rows = await store.rows<StoredOutcome & { readonly id: string }>(
      sql`SELECT id, outcomes, iids FROM ${alertEvents} FINAL WHERE project = ${project} AND position IN (
        SELECT position FROM ${alertEvents} WHERE project = ${project} AND id IN ${some}
          AND position > (SELECT max(position) FROM ${alertEvents} WHERE project = ${project}) - ${EVENTS_SEARCHED})
        AND id IN ${some}`,
    );
    for (const row of rows) found.set(row.id, row);
  }
  return found;
}

/**
 * Loads deliveries that the next event may repeat, newest first, until `bytesMax` is reached. The next event is the oldest
 * stored event after the state's position, or else a new event.
 */
async function loadCounted(store: Store, state: ProjectState, bytesMax: number): Promise<void> {
  const { project, position } = state;
  const [bounds] = await store.rows<{ next: number }>(
    sql`SELECT if(max(position) > ${position}, minIf(at, position > ${position}), max(at)) AS next
      FROM ${alertEvents} WHERE project = ${project}`,
  );
  const limit = Math.floor(bytesMax / COUNTED_ROW_BYTES);
  const rows = await readCounted(store, state, bounds?.next ?? 0, sql`1`, limit);
  const oldest = rows.at(-1)?.at ?? Number.POSITIVE_INFINITY;
  for (const row of rows.reverse()) putCountedRow(state, row);
  if (rows.length < limit) return;
  // Earlier events in the log may have later times, because clocks of servers differ.
  for (const counted of [state.counted, state.named]) counted.completeFrom = oldest + CLOCK_SKEW_MS;
}

/** Estimated size of a delivery while it is loaded. */
const COUNTED_ROW_BYTES = 500;

/** Loads the deliveries with these retry keys that an event at the time `at` may repeat. */
export async function loadCountedOf(
  store: Store,
  state: ProjectState,
  at: number,
  retryKeys: ReadonlySet<string>,
): Promise<void> {
  for (const keys of chunkForIn(retryKeys)) {
    const rows = await readCounted(store, state, at, sql`key IN ${keys}`, Number.MAX_SAFE_INTEGER);
    for (const row of rows.reverse()) putCountedRow(state, row);
  }
}

interface CountedRow {
  readonly at: number;
  readonly key: string;
  readonly outcome: string;
  readonly iid: number;
}

/** Newest first, with the last item of an event first: items of one event may have the same key. */
async function readCounted(
  store: Store,
  { project, position, counted, named }: ProjectState,
  next: number,
  condition: Sql,
  limit: number,
): Promise<CountedRow[]> {
  const since = (windowMs: number) => next - windowMs - CLOCK_SKEW_MS;
  const rows = await store.rows<CountedRow>(
    sql`SELECT at, item.1 AS key, item.2 AS outcome, item.3 AS iid FROM ${alertEvents} FINAL
      ARRAY JOIN arrayZip(retry_keys, outcomes, iids) AS item, arrayEnumerate(retry_keys) AS number
      WHERE project = ${project} AND position <= ${position} AND key != ''
        AND at >= ${since(Math.max(counted.windowMs, named.windowMs))}
        AND (at >= ${since(counted.windowMs)} OR startsWith(key, ${NAMED_PREFIX})) AND ${condition}
      ORDER BY ${raw('alert_events.position')} DESC, number DESC LIMIT ${limit}`,
  );
  return rows;
}

const putCountedRow = (state: ProjectState, { at, key, outcome, iid }: CountedRow): void =>
  putCounted(state, key, {
    at,
    created: outcome === 'created' ? iid : 0,
    position: 0,
    isUnmatched: outcome === 'unmatched',
  });

/** Numbers of the unresolved alerts with one of the fingerprints. */
export async function openAlertsOf(
  store: Store,
  project: number,
  fingerprints: readonly string[],
): Promise<number[]> {
  const found: number[] = [];
  for (const some of chunkForIn(fingerprints)) {
    const rows = await store.rows<{ iid: number }>(
      sql`SELECT iid FROM ${alerts} WHERE project = ${project} AND fingerprint IN ${some}
        GROUP BY iid HAVING argMax(status, position) != 'resolved'`,
    );
    for (const { iid } of rows) found.push(iid);
  }
  return found;
}

/** Projects whose alerts lack their newest events, in one partition of the log or in all. */
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
