import { isObject, type JsonObject, ownProperty } from '../../../aggregate/alerts/formats/values.ts';
import {
  ALERT_STATUSES,
  type Alert,
  type AlertStatus,
  type Outcome,
  SEVERITIES,
  type Severity,
} from '../../../aggregate/alerts/model/alert.ts';
import { decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents, alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { EventParser } from '../../../aggregate/alerts/processor/parser.ts';
import { ignore } from '../../../infra/ignore.ts';
import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, join, raw, type Sql, sql } from '../../../infra/sql.ts';
import { parseExact } from '../../../ingest/decode/json.ts';
import { RequestRefused } from '../model/access.ts';

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
  readonly host?: string | undefined;
  /** A label, as `name=value`. */
  readonly label?: string | undefined;
  /** Id of a user; `none` for alerts without an assignee. */
  readonly assignee?: string | undefined;
  readonly started_after?: number | undefined;
  readonly started_before?: number | undefined;
  /** Only these alerts, by `iid`. */
  readonly iids?: readonly number[] | undefined;
}

interface PageOfList {
  readonly number: number;
  readonly size: number;
}

export interface AlertOrder {
  readonly sort: Sort;
  readonly descending: boolean;
}

/** Outcomes of events that report an ongoing problem. */
const OCCURRENCES: readonly Outcome[] = ['created', 'grouped', 'raised'];

export const OPEN_STATUSES: readonly AlertStatus[] = ['triggered', 'acknowledged'];

/** `open` is the sum of triggered and acknowledged. */
export type StatusCounts = Readonly<Record<AlertStatus | 'open' | 'all', number>>;

/** Numbers of alerts that match a filter, by status and by severity. */
export interface AlertCounts {
  readonly statuses: StatusCounts;
  readonly severities: Readonly<Record<Severity, number>>;
}

interface AlertDetails {
  /** The body of the newest occurrence, or the alert's item of that body. */
  readonly payload: unknown;
  /** Annotations that are not shown as fields of the alert. */
  readonly annotations: JsonObject;
}

export interface HistoryEntry {
  readonly at: number;
  readonly outcome: string;
  /** Id of the user; '' for the source. */
  readonly by: string;
  readonly integration: string;
  readonly change: JsonObject;
  /** A remark on the event; '' for none. */
  readonly note: string;
}

/** Default page size of a history. It equals the length of the list before pagination existed. */
export const HISTORY_PER_PAGE = 100;

/** Open alerts read per request, and per part in memory. */
const OPEN_READ_MAX = 10_000;
const OPEN_PART = 500;

/** Reads alerts. `findAll` reads at once; lists, counts and `find` first wait for the writes of this process. */
export class AlertReader {
  readonly #store: Pick<Store, 'rows'>;
  readonly #pipeline: AlertPipeline;

  constructor({ store, pipeline }: { store: Pick<Store, 'rows'>; pipeline: AlertPipeline }) {
    this.#store = store;
    this.#pipeline = pipeline;
  }

  /** Runs the queries within the limits of a caller. */
  withStore(store: Pick<Store, 'rows'>): AlertReader {
    return new AlertReader({ store, pipeline: this.#pipeline });
  }

  /** One page of the alerts that match a filter. Wide rows are read only for the alerts of the page. */
  async list(
    project: number,
    filter: AlertFilter,
    order: AlertOrder,
    page: PageOfList,
  ): Promise<readonly Alert[]> {
    await this.#pipeline.waitUntilWritten();
    const direction = raw(order.descending ? 'DESC' : 'ASC');
    const ordered = sql`ORDER BY ${raw(SORTS[order.sort])} ${direction}, iid ${direction}`;
    const chosen = sql`SELECT iid FROM ${alerts} FINAL WHERE ${conditionOf(project, filter)} ${ordered}
      LIMIT ${page.size} OFFSET ${(page.number - 1) * page.size}`;
    return this.#store.rows<Alert>(
      sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} AND iid IN (${chosen}) ${ordered}`,
    );
  }

  /** The number of matching alerts of each status. */
  async countByStatus(project: number, filter: AlertFilter): Promise<StatusCounts> {
    const rows = await this.#counted(project, filter);
    return statusCounts(rows);
  }

  /** The number of alerts by status, ignoring the status filter, and by severity, ignoring the severity filter. */
  async count(project: number, filter: AlertFilter): Promise<AlertCounts> {
    const rows = await this.#counted(project, { ...filter, status: undefined, severity: undefined });
    const isIn = <T>(some: readonly T[] | undefined, one: T) => !some?.length || some.includes(one);
    const ofStatus = rows.filter(({ status }) => isIn(filter.status, status));
    return {
      statuses: statusCounts(rows.filter(({ severity }) => isIn(filter.severity, severity))),
      severities: Object.fromEntries(
        SEVERITIES.map((name) => [name, sumOf(ofStatus.filter(({ severity }) => severity === name))]),
      ) as Record<Severity, number>,
    };
  }

  async #counted(project: number, filter: AlertFilter): Promise<Counted[]> {
    await this.#pipeline.waitUntilWritten();
    return this.#store.rows<Counted>(
      sql`SELECT status, severity, count() AS total FROM ${alerts} FINAL
        WHERE ${conditionOf(project, filter)} GROUP BY status, severity`,
    );
  }

  /** A token that changes with every event or alert of the project. */
  async changeToken(project: number): Promise<string> {
    const [row] = await this.#store.rows<{ events: number; alerts: number }>(
      sql`SELECT (SELECT max(position) FROM ${alertEvents} WHERE project = ${project}) AS events,
        (SELECT max(position) FROM ${alerts} WHERE project = ${project}) AS alerts`,
    );
    return `${row?.events ?? 0}.${row?.alerts ?? 0}`;
  }

  /** The number of open alerts of projects; those without any are absent. */
  async countOpen(projects: readonly number[]): Promise<ReadonlyMap<number, number>> {
    await this.#pipeline.waitUntilWritten();
    const open = new Map<number, number>();
    // The number of projects is not limited, because others can add a user to theirs.
    for (const some of chunkForIn(projects)) {
      const rows = await this.#store.rows<{ project: number; total: number }>(
        sql`SELECT project, count() AS total FROM ${alerts} FINAL
          WHERE project IN ${some} AND status IN ${OPEN_STATUSES} GROUP BY project`,
      );
      for (const { project, total } of rows) open.set(project, total);
    }
    return open;
  }

  /** The newest open alerts, in parts. */
  async *openInParts(project: number): AsyncGenerator<readonly Alert[]> {
    await this.#pipeline.waitUntilWritten();
    let below = sql``;
    for (let count = 0; count < OPEN_READ_MAX; count += OPEN_PART) {
      const part = await this.#store.rows<Alert>(
        sql`SELECT * REPLACE ('' AS incident_markdown) FROM ${alerts} FINAL
          WHERE project = ${project} AND status IN ${OPEN_STATUSES}${below} ORDER BY iid DESC LIMIT ${OPEN_PART}`,
      );
      if (part.length > 0) yield part;
      if (part.length < OPEN_PART) return;
      below = sql` AND iid < ${part.at(-1)?.iid ?? 0}`;
    }
  }

  async find(project: number, iid: number): Promise<Alert | null> {
    await this.#pipeline.waitUntilWritten();
    const [alert] = await this.#store.rows<Alert>(
      sql`SELECT * FROM ${alerts} FINAL WHERE project = ${project} AND iid = ${iid}`,
    );
    return alert ?? null;
  }

  /** Alerts by number, as they are stored now. Leaves out the Markdown for incidents, because it may be long. */
  async findAll(project: number, iids: readonly number[]): Promise<ReadonlyMap<number, Alert>> {
    const rows = await this.#store.rows<Alert>(
      sql`SELECT * REPLACE ('' AS incident_markdown) FROM ${alerts} FINAL WHERE project = ${project} AND iid IN ${iids}`,
    );
    return new Map(rows.map((alert) => [alert.iid, alert]));
  }

  async get(projectId: string, iid: number): Promise<Alert> {
    const alert = await this.find(Number(projectId), iid);
    if (alert === null) throw new RequestRefused('not_found', 'Alert Not Found');
    return alert;
  }

  /** Reads the details from the newest event that created or repeated the alert. */
  async details(alert: Alert): Promise<AlertDetails> {
    const { project, iid, created_position, position } = alert;
    const occurs = sql`(outcome, of) -> of = ${iid} AND outcome IN ${OCCURRENCES}`;
    const [row] = await this.#store.rows<{ body: string; item: number }>(
      sql`SELECT body, arrayLastIndex(${occurs}, outcomes, iids) AS item FROM ${alertEvents} FINAL
        PREWHERE project = ${project} AND position = (SELECT max(position) FROM ${alertEvents}
          WHERE project = ${project} AND position BETWEEN ${created_position} AND ${position}
            AND arrayExists(${occurs}, outcomes, iids))`,
    );
    // The store may have refused the body.
    const body = row === undefined || row.body === '' ? null : parseExact(row.body);
    const items = ownProperty(body, 'alerts');
    const index = (row?.item ?? 1) - 1;
    // Only alerts in the Prometheus format have a label for the y axis. A list is a batch of CloudEvents.
    const list = Array.isArray(items) && alert.y_label !== '' ? items : body;
    const payload = Array.isArray(list) ? list[index] : list;
    const annotations = ownProperty(payload, 'annotations');
    const others = isObject(annotations) && alert.y_label !== '' ? Object.entries(annotations) : [];
    return {
      payload,
      annotations: Object.fromEntries(others.filter(([name]) => !FIELD_ANNOTATIONS.has(name))),
    };
  }

  /** One page of the events of an alert, newest first, and the total number. A delivery may contain several events. */
  async history(
    alert: Alert,
    { number, size }: PageOfList,
  ): Promise<{ readonly entries: readonly HistoryEntry[]; readonly total: number }> {
    const ofAlert = (columns: Sql) => sql`FROM (
        SELECT ${columns}, outcomes, iids FROM ${alertEvents} FINAL
        WHERE project = ${alert.project} AND position BETWEEN ${alert.created_position} AND ${alert.position}
          AND has(iids, ${alert.iid}) AND outcomes != ['unchanged'])
      ARRAY JOIN outcomes AS outcome, iids AS iid, arrayEnumerate(iids) AS item WHERE iid = ${alert.iid}`;
    const [rows, [counted]] = await Promise.all([
      this.#store.rows<HistoryRow>(
        sql`SELECT position, item, at, head, outcome ${ofAlert(raw('position, at, head'))}
          ORDER BY position DESC, item DESC LIMIT ${size} OFFSET ${(number - 1) * size}`,
      ),
      this.#store.rows<{ total: number }>(sql`SELECT count() AS total ${ofAlert(raw('position'))}`),
    ]);
    const unread = await this.#unreadEnds(alert.project, rows);
    const entries = rows.map((row) => entryOf(row, unread.has(row) ? UNREAD_END : ''));
    return { entries, total: counted?.total ?? 0 };
  }

  /** Finds resolving entries whose source sent an invalid end time. */
  async #unreadEnds(project: number, rows: readonly HistoryRow[]): Promise<ReadonlySet<HistoryRow>> {
    const resolving = rows.filter(({ outcome }) => outcome === 'resolved');
    if (resolving.length === 0) return new Set();
    const stored = await this.#store.rows<{ position: number; body: string }>(
      sql`SELECT position, body FROM ${alertEvents} FINAL
        PREWHERE project = ${project} AND position IN ${resolving.map(({ position }) => position)}`,
    );
    const bodies = new Map(stored.map(({ position, body }) => [position, body]));
    const parser = new EventParser(ignore('alerts.body_of_history'));
    return new Set(
      resolving.filter(({ position, item, head }) => {
        const { delivery } = parser.parse(decodeHead(head), Buffer.from(bodies.get(position) ?? ''));
        return delivery?.items[item - 1]?.hasUnreadEnd === true;
      }),
    );
  }
}

const UNREAD_END = 'its end time cannot be read, so the alert ended when the event was received';

interface Counted {
  readonly status: AlertStatus;
  readonly severity: Severity;
  readonly total: number;
}

const sumOf = (rows: readonly Counted[]): number => rows.reduce((sum, { total }) => sum + total, 0);

function statusCounts(rows: readonly Counted[]): StatusCounts {
  const counts = Object.fromEntries(
    ALERT_STATUSES.map((status) => [status, sumOf(rows.filter((row) => row.status === status))]),
  ) as Record<AlertStatus, number>;
  return { ...counts, open: counts.triggered + counts.acknowledged, all: sumOf(rows) };
}

interface HistoryRow {
  readonly position: number;
  /** Counted from 1. */
  readonly item: number;
  readonly at: number;
  readonly head: string;
  readonly outcome: string;
}

function entryOf({ at, head, outcome }: HistoryRow, note: string): HistoryEntry {
  const event = decodeHead(head);
  return event.kind === 'action'
    ? { at, outcome, by: event.by, integration: '', change: event.change as JsonObject, note }
    : { at, outcome, by: '', integration: event.integration, change: {}, note };
}

function conditionOf(project: number, filter: AlertFilter): Sql {
  const conditions = [sql`project = ${project}`];
  if (filter.status?.length) conditions.push(sql`status IN ${filter.status}`);
  if (filter.severity?.length) conditions.push(sql`severity IN ${filter.severity}`);
  for (const word of (filter.search ?? '').split(/\s+/).filter(Boolean).slice(0, 10)) {
    conditions.push(sql`position(searched, lowerUTF8(${word})) > 0`);
  }
  if (filter.iids) conditions.push(sql`iid IN ${filter.iids}`);
  if (filter.service) conditions.push(sql`service = ${filter.service}`);
  if (filter.monitoring_tool) conditions.push(sql`tool = ${filter.monitoring_tool}`);
  if (filter.environment) conditions.push(sql`environment = ${filter.environment}`);
  if (filter.label) conditions.push(sql`has(labels, ${filter.label})`);
  if (filter.host) conditions.push(sql`has(hosts, ${filter.host})`);
  if (filter.integration) conditions.push(sql`integration = ${filter.integration}`);
  if (filter.assignee === 'none') conditions.push(sql`empty(assignees)`);
  else if (filter.assignee) conditions.push(sql`has(assignees, ${filter.assignee})`);
  if (filter.started_after !== undefined) conditions.push(sql`started_ms >= ${filter.started_after}`);
  if (filter.started_before !== undefined) conditions.push(sql`started_ms < ${filter.started_before}`);
  return join(conditions, ' AND ');
}

/** Annotations that are fields of the alert. */
const FIELD_ANNOTATIONS = new Set([
  'title',
  'summary',
  'description',
  'runbook',
  'runbook_url',
  'platform_incident_markdown',
  'platform_y_label',
]);
