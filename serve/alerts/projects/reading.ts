import { get, isObject, type JsonObject } from '../../../aggregate/alerts/formats/values.ts';
import {
  ALERT_STATUSES,
  type Alert,
  type AlertStatus,
  SEVERITIES,
  type Severity,
} from '../../../aggregate/alerts/model/alert.ts';
import { decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import { join, raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { parseExact } from '../../../ingest/decode/json.ts';
import type { AlertServices } from '../services.ts';

// What readers get to see of alerts.

export const SORTS = {
  started_at: 'started_ms',
  ended_at: 'ended_ms',
  created_at: 'created_ms',
  updated_at: 'updated_ms',
  last_seen_at: 'seen_ms',
  event_count: 'events',
  severity: `-indexOf([${SEVERITIES.map((severity) => `'${severity}'`).join(', ')}], severity)`,
  status: `-indexOf([${ALERT_STATUSES.map((status) => `'${status}'`).join(', ')}], status)`,
} as const;
export type Sort = keyof typeof SORTS;

export interface AlertFilter {
  readonly status?: readonly AlertStatus[] | undefined;
  readonly severity?: readonly Severity[] | undefined;
  readonly search?: string | undefined;
  readonly service?: string | undefined;
  readonly monitoring_tool?: string | undefined;
  readonly environment?: string | undefined;
  readonly integration?: string | undefined;
  /** Id of a user; `none` for alerts that nobody was given. */
  readonly assignee?: string | undefined;
  readonly started_after?: number | undefined;
  readonly started_before?: number | undefined;
}

/**
 * One page of the alerts that pass a filter. What this process has taken in by now is among them. Only what the
 * filter and the order ask for is read of all of them; the wide rows are those of the page.
 */
export async function listAlerts(
  services: AlertServices,
  project: number,
  filter: AlertFilter,
  order: { readonly sort: Sort; readonly descending: boolean },
  page: { readonly number: number; readonly size: number },
): Promise<readonly Alert[]> {
  await services.alerts.waitUntilWritten();
  const direction = raw(order.descending ? 'DESC' : 'ASC');
  const ordered = sql`ORDER BY ${raw(SORTS[order.sort])} ${direction}, iid ${direction}`;
  const chosen = sql`SELECT iid FROM ${alerts} FINAL WHERE ${conditionOf(project, filter)} ${ordered}
    LIMIT ${page.size} OFFSET ${(page.number - 1) * page.size}`;
  return services.engine.runtime.store.rows<Alert>(
    sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} AND iid IN (${chosen}) ${ordered}`,
  );
}

export type StatusCounts = Readonly<Record<AlertStatus | 'open' | 'all', number>>;

/** How many of the alerts that pass a filter stand in each status; `open` are those that somebody should look at. */
export async function countAlerts(
  services: AlertServices,
  project: number,
  filter: AlertFilter,
): Promise<StatusCounts> {
  await services.alerts.waitUntilWritten();
  const rows = await services.engine.runtime.store.rows<{ status: AlertStatus; total: number }>(
    sql`SELECT status, count() AS total FROM ${alerts} FINAL WHERE ${conditionOf(project, filter)} GROUP BY status`,
  );
  const of = (status: AlertStatus) => rows.find((row) => row.status === status)?.total ?? 0;
  const counts = Object.fromEntries(ALERT_STATUSES.map((status) => [status, of(status)])) as Record<
    AlertStatus,
    number
  >;
  return {
    ...counts,
    open: counts.triggered + counts.acknowledged,
    all: rows.reduce((sum, { total }) => sum + total, 0),
  };
}

function conditionOf(project: number, filter: AlertFilter): Sql {
  const conditions = [sql`project = ${project}`];
  if (filter.status?.length) conditions.push(sql`status IN ${filter.status}`);
  if (filter.severity?.length) conditions.push(sql`severity IN ${filter.severity}`);
  for (const word of (filter.search ?? '').split(/\s+/).filter(Boolean).slice(0, 10)) {
    conditions.push(sql`position(searched, lowerUTF8(${word})) > 0`);
  }
  if (filter.service) conditions.push(sql`service = ${filter.service}`);
  if (filter.monitoring_tool) conditions.push(sql`tool = ${filter.monitoring_tool}`);
  if (filter.environment) conditions.push(sql`environment = ${filter.environment}`);
  if (filter.integration) conditions.push(sql`integration = ${filter.integration}`);
  if (filter.assignee === 'none') conditions.push(sql`empty(assignees)`);
  else if (filter.assignee) conditions.push(sql`has(assignees, ${filter.assignee})`);
  if (filter.started_after !== undefined) conditions.push(sql`started_ms >= ${filter.started_after}`);
  if (filter.started_before !== undefined) conditions.push(sql`started_ms < ${filter.started_before}`);
  return join(conditions, ' AND ');
}

/** One alert; null when the project has none of that number. */
export async function findAlert(
  services: AlertServices,
  project: number,
  iid: number,
): Promise<Alert | null> {
  await services.alerts.waitUntilWritten();
  const [alert] = await services.engine.runtime.store.rows<Alert>(
    sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} AND iid = ${iid}`,
  );
  return alert ?? null;
}

/** Annotations that are shown as fields of their own. */
const OWN_ANNOTATIONS = new Set([
  'title',
  'summary',
  'description',
  'runbook',
  'runbook_url',
  'platform_incident_markdown',
  'platform_y_label',
]);

export interface AlertDetails {
  /** What was sent: the body, or the item of it that made the alert. */
  readonly payload: unknown;
  readonly annotations: JsonObject;
}

/** What the alert was made from, read from the event that created it. */
export async function detailsOf(services: AlertServices, alert: Alert): Promise<AlertDetails> {
  const [row] = await services.engine.runtime.store.rows<{ body: string }>(
    sql`SELECT body FROM ${alertEvents} WHERE project = ${alert.project} AND position = ${alert.created_position} LIMIT 1`,
  );
  const body = row === undefined ? null : parseExact(row.body);
  const items = get(body, 'alerts');
  // Only items of the Prometheus format have a label for an axis.
  const payload = Array.isArray(items) && alert.y_label !== '' ? items[alert.created_item] : body;
  const annotations = get(payload, 'annotations');
  const others = isObject(annotations) && alert.y_label !== '' ? Object.entries(annotations) : [];
  return {
    payload,
    annotations: Object.fromEntries(others.filter(([name]) => !OWN_ANNOTATIONS.has(name))),
  };
}

export interface HistoryEntry {
  readonly at: number;
  readonly outcome: string;
  /** User who did it; '' for what a source told. */
  readonly by: string;
  readonly integration: string;
  readonly change: JsonObject;
}

const HISTORY_MOST = 100;

/** The newest things that happened to an alert, newest first. */
export async function historyOf(services: AlertServices, alert: Alert): Promise<HistoryEntry[]> {
  const rows = await services.engine.runtime.store.rows<{
    at: number;
    head: string;
    outcomes: string[];
    iids: number[];
  }>(
    sql`SELECT at, head, outcomes, iids FROM ${alertEvents} FINAL
      WHERE project = ${alert.project} AND position BETWEEN ${alert.created_position} AND ${alert.position}
        AND has(iids, ${alert.iid})
      ORDER BY position DESC LIMIT ${HISTORY_MOST}`,
  );
  return rows.flatMap(({ at, head, outcomes, iids }) => {
    const event = decodeHead(head);
    return iids.flatMap((iid, i): HistoryEntry[] => {
      if (iid !== alert.iid) return [];
      const isAction = event.kind === 'action';
      return [
        {
          at,
          outcome: outcomes[i] ?? '',
          by: isAction ? event.by : '',
          integration: isAction ? '' : event.integration,
          change: isAction ? (event.change as JsonObject) : {},
        },
      ];
    });
  });
}
