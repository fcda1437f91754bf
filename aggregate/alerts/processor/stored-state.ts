import { raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import type { Store } from '../../../infra/ports.ts';
import type { Alert, Outcome } from '../model/alert.ts';
import { decodeHead, type EventHead } from '../model/event.ts';
import { isNamed } from '../model/retry-key.ts';
import type { FoldRules } from '../model/rules.ts';
import { alertEvents, alerts } from '../model/tables.ts';
import {
  CLOCK_SKEW_MS,
  emptyState,
  IDS_REMEMBERED,
  keep,
  type ProjectState,
  recall,
} from '../reducer/project-state.ts';

// How events and alerts are read back from the store.

export interface AlertEventRow {
  readonly position: number;
  readonly head: EventHead;
  readonly body: Buffer;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

/** Events of one statement, and bytes of their bodies. */
const EVENTS_PER_READ = 500;

/** Events of a project behind a position, in order, some at a time. */
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

/** How far the store is with a project: positions of its newest event and of the newest one that its alerts show. */
export interface StoredProgress {
  readonly events: number;
  readonly shown: number;
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
  return { events: event?.newest ?? 0, shown: alert?.newest ?? 0, lastIid: alert?.iid ?? 0 };
}

export const isSameProgress = (a: StoredProgress, b: StoredProgress): boolean =>
  a.events === b.events && a.shown === b.shown;

export interface LoadedState {
  readonly state: ProjectState;
  /** Whether every unresolved alert of the project is in it. */
  readonly isComplete: boolean;
}

/**
 * The state of a project as of the newest event whose outcome its alerts show; the events behind it are still to be
 * applied. True only if nobody wrote meanwhile: the progress must be the same afterwards.
 */
export async function loadState(
  store: Store,
  project: number,
  { events, shown, lastIid }: StoredProgress,
  rules: FoldRules,
  openMax: number,
): Promise<LoadedState> {
  const state = emptyState(project);
  state.position = (await isShown(store, project, shown)) ? events : shown;
  state.lastIid = lastIid;
  const open = await readAlerts(
    store,
    sql`project = ${project} AND status != 'resolved' AND fingerprint != ''`,
    openMax + 1,
  );
  for (const alert of open) keep(state, alert);
  await loadWindows(store, state, rules);
  await loadCounted(store, state, rules);
  return { state, isComplete: open.length <= openMax };
}

/** What alerts tell of: an event that changed none of them needs not be applied again. */
const CHANGES: readonly Outcome[] = ['created', 'grouped', 'resolved', 'changed'];

async function isShown(store: Store, project: number, shown: number): Promise<boolean> {
  const rows = await store.rows(
    sql`SELECT 1 FROM ${alertEvents} WHERE project = ${project} AND position > ${shown}
      AND hasAny(outcomes, ${CHANGES}) LIMIT 1`,
  );
  return rows.length === 0;
}

/** The windows of the settings, or wider ones that the newest deliveries were accepted with. */
async function loadWindows(store: Store, state: ProjectState, rules: FoldRules): Promise<void> {
  const [row] = await store.rows<{ retry: number; named: number }>(
    sql`SELECT max(JSONExtractUInt(head, 'rules', 'retryWindowMs')) AS retry,
        max(JSONExtractUInt(head, 'rules', 'namedWindowMs')) AS named
      FROM ${alertEvents} WHERE project = ${state.project} AND position > ${state.position - IDS_REMEMBERED}`,
  );
  state.retryWindowMs = Math.max(rules.retryWindowMs, row?.retry ?? 0);
  state.namedWindowMs = Math.max(rules.namedWindowMs, row?.named ?? 0);
}

/** Newest events of a project up to a position, oldest first, and where the log had the last of each partition. */
export async function newestOf(
  store: Store,
  project: number,
  position: number,
): Promise<{ ids: string[]; ends: Map<number, number> }> {
  const [ids, ends] = await Promise.all([
    store.rows<{ id: string }>(
      sql`SELECT id FROM ${alertEvents} FINAL WHERE project = ${project}
        AND position > ${position - IDS_REMEMBERED} AND position <= ${position} ORDER BY position`,
    ),
    store.rows<{ log_partition: number; last: number }>(
      sql`SELECT log_partition, max(log_offset) AS last FROM ${alertEvents}
        WHERE project = ${project} AND position <= ${position} GROUP BY log_partition`,
    ),
  ]);
  return {
    ids: ids.map(({ id }) => id),
    ends: new Map(ends.map(({ log_partition, last }) => [log_partition, last])),
  };
}

/** Ids of the events of a project up to a position that the log had in a range of a partition. */
export async function idsBetween(
  store: Store,
  project: number,
  position: number,
  place: { readonly partition: number; readonly from: number; readonly until: number },
): Promise<string[]> {
  const rows = await store.rows<{ id: string }>(
    sql`SELECT id FROM ${alertEvents} WHERE project = ${project} AND position <= ${position}
      AND log_partition = ${place.partition} AND log_offset BETWEEN ${place.from} AND ${place.until}`,
  );
  return rows.map(({ id }) => id);
}

/** What events did, found by their ids among the newest of their project; those that are not there are left out. */
export async function outcomesOf(
  store: Store,
  project: number,
  ids: readonly string[],
): Promise<Map<string, StoredOutcome>> {
  const rows = await store.rows<StoredOutcome & { readonly id: string }>(
    sql`SELECT id, outcomes, iids FROM ${alertEvents} WHERE project = ${project} AND id IN ${ids}
      AND position > (SELECT max(position) FROM ${alertEvents} WHERE project = ${project}) - ${LOOKED_THROUGH}`,
  );
  return new Map(rows.map((row) => [row.id, row]));
}

export interface StoredOutcome {
  readonly outcomes: readonly Outcome[];
  readonly iids: readonly number[];
}

/** Events among which one is looked for that was accepted moments ago. */
const LOOKED_THROUGH = 100_000;

/**
 * Deliveries that were counted before the state's position and that the next event may be a retry of. That is the
 * oldest event that is still to be applied, when there is one.
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
    const memory = isNamed(key) ? state.named : state.counted;
    recall(memory, key, { at, created: outcome === 'created' ? iid : 0 });
  }
}

/** Alerts that meet a condition, as they stand. */
export function readAlerts(store: Store, where: Sql, most: number): Promise<Alert[]> {
  return store.rows<Alert>(sql`SELECT * FROM ${alerts} FINAL WHERE ${where} LIMIT ${most}`);
}

/** Projects whose alerts do not show their newest events yet; of one partition of the log, or of all. */
export async function laggingProjects(store: Store, partition?: number): Promise<number[]> {
  const rows = await store.rows<{ project: number }>(
    sql`SELECT DISTINCT project FROM ${alertEvents} AS events
      LEFT JOIN (SELECT project, max(position) AS shown FROM ${alerts} GROUP BY project) AS shown USING (project)
      WHERE position > shown AND hasAny(outcomes, ${CHANGES})
        AND ${partition === undefined ? sql`1` : sql`log_partition = ${partition}`}
      ORDER BY project`,
  );
  return rows.map(({ project }) => project);
}
