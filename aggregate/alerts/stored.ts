import { raw, type Sql, sql } from '../../infra/kernel/sql.ts';
import type { Store } from '../../infra/runtime.ts';
import type { Alert } from './alert.ts';
import { type EventHead, isNamed } from './delivery.ts';
import { CLOCK_SKEW_MS, emptyState, type FoldRules, keep, type ProjectState } from './fold.ts';
import { alertEvents, alerts } from './tables.ts';

// How events and alerts are read back from the store.

export interface StoredEvent {
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
): AsyncGenerator<StoredEvent> {
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
      yield { ...row, head: JSON.parse(row.head) as EventHead, body: Buffer.from(row.body) };
    }
    if (rows.length < EVENTS_PER_READ) return;
    after = rows.at(-1)?.position ?? after;
  }
}

export interface LoadedState {
  readonly state: ProjectState;
  /** Whether every unresolved alert of the project is in it. */
  readonly isComplete: boolean;
}

/** The state of a project as of the newest event that its alerts show; events behind it are still to be applied. */
export async function loadState(
  store: Store,
  project: number,
  rules: FoldRules,
  openMost: number,
): Promise<LoadedState> {
  const state = emptyState(project);
  const [newest] = await store.rows<{ position: number; iid: number }>(
    sql`SELECT max(position) AS position, max(iid) AS iid FROM ${alerts} WHERE project = ${project}`,
  );
  state.position = newest?.position ?? 0;
  const open = await readAlerts(
    store,
    sql`project = ${project} AND status != 'resolved' AND fingerprint != ''`,
    openMost + 1,
  );
  for (const alert of open) keep(state, alert);
  state.lastIid = newest?.iid ?? 0;
  await loadCounted(store, state, rules);
  return { state, isComplete: open.length <= openMost };
}

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
  const since = (windowMs: number) => (bounds?.next ?? 0) - windowMs - CLOCK_SKEW_MS;
  const rows = await store.rows<{ at: number; key: string; outcome: string; iid: number }>(
    sql`SELECT at, item.1 AS key, item.2 AS outcome, item.3 AS iid FROM ${alertEvents} FINAL
      ARRAY JOIN arrayZip(retry_keys, outcomes, iids) AS item
      WHERE project = ${project} AND position <= ${position} AND key != ''
        AND at >= ${since(Math.max(rules.retryWindowMs, rules.namedWindowMs))}
      ORDER BY ${raw('alert_events.position')} DESC LIMIT ${2 * rules.retryKeysMax}`,
  );
  for (const { at, key, outcome, iid } of rows.reverse()) {
    if (!isNamed(key) && at < since(rules.retryWindowMs)) continue;
    const memory = isNamed(key) ? state.named : state.counted;
    memory.delete(key);
    memory.set(key, { at, created: outcome === 'created' ? iid : 0 });
  }
}

/** Alerts that meet a condition, as they stand. */
export function readAlerts(store: Store, where: Sql, most: number): Promise<Alert[]> {
  return store.rows<Alert>(sql`SELECT * FROM ${alerts} FINAL WHERE ${where} LIMIT ${most}`);
}

/** Projects whose newest events may not show in their alerts yet. */
export async function laggingProjects(store: Store): Promise<number[]> {
  const rows = await store.rows<{ project: number }>(
    sql`SELECT project FROM (SELECT project, max(position) AS newest FROM ${alertEvents} GROUP BY project) AS events
      LEFT JOIN (SELECT project, max(position) AS shown FROM ${alerts} GROUP BY project) AS shown USING (project)
      WHERE newest > shown ORDER BY project`,
  );
  return rows.map(({ project }) => project);
}
