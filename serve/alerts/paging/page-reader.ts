import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, sql } from '../../../infra/sql.ts';
import { pageLog, pageNotifications, pages } from '../model/oncall-tables.ts';
import type { AlertPage, StepCall } from './escalation.ts';

type NotificationKind = 'triggered' | 'acknowledged' | 'resolved' | 'exhausted';

/** A notification of a contact or a channel about a page. Times are in milliseconds; 0 means none. */
export interface PageNotification {
  readonly project: number;
  /** Id of a contact or a channel, or `fallback`. */
  readonly destination: string;
  readonly id: string;
  readonly alert: number;
  readonly policy: string;
  readonly round: number;
  readonly cycle: number;
  readonly step: number;
  /** Owner of the contact; '' for a channel and for `fallback`. */
  readonly user: string;
  readonly kind: NotificationKind;
  readonly severity: string;
  readonly by: string;
  readonly reason: string;
  readonly due_ms: number;
  readonly state: StepCall['state'];
  readonly message: string;
  readonly attempts: number;
  /** True if an attempt has no result, so the receiver may have the message. */
  readonly is_doubtful: boolean;
  readonly started_ms: number;
  readonly next_ms: number;
  readonly status: number;
  readonly fault: string;
  readonly sent_ms: number;
  /** Time of the use of the link. Set on the first notification of a message. */
  readonly used_ms: number;
  readonly created_ms: number;
  readonly version: number;
}

export interface LogEntry {
  readonly project: number;
  readonly alert: number;
  readonly policy: string;
  readonly at: number;
  readonly what: string;
  readonly by: string;
}

const ALERT_ROWS_MAX = 500;

/** Reads pages, their notifications and their log. */
export class PageReader {
  protected readonly store: Pick<Store, 'rows'>;

  constructor(store: Pick<Store, 'rows'>) {
    this.store = store;
  }

  async ofAlerts(project: number, alerts: readonly number[]): Promise<AlertPage[]> {
    const found: AlertPage[] = [];
    for (const some of chunkForIn(alerts)) {
      found.push(
        ...(await this.store.rows<AlertPage>(
          sql`SELECT * FROM ${pages} FINAL WHERE project = ${project} AND alert IN ${some}`,
        )),
      );
    }
    return found;
  }

  /** Pages of a project, the newest first. */
  list(project: number, states: readonly string[], limit: number): Promise<AlertPage[]> {
    const isAny = states.length === 0 ? sql`1` : sql`state IN ${states}`;
    return this.store.rows<AlertPage>(
      sql`SELECT * FROM ${pages} FINAL WHERE project = ${project} AND ${isAny} ORDER BY created_ms DESC, alert DESC LIMIT ${limit}`,
    );
  }

  /** Counts the pages of a policy that are not closed. */
  async unclosedOf(project: number, policy: string): Promise<number> {
    const [row] = await this.store.rows<{ total: number }>(
      sql`SELECT count() AS total FROM ${pages} FINAL
        WHERE project = ${project} AND policy = ${policy} AND state != 'closed'`,
    );
    return row?.total ?? 0;
  }

  logOf(project: number, alert: number): Promise<LogEntry[]> {
    return this.store.rows<LogEntry>(
      sql`SELECT project, alert, policy, at, what, by FROM ${pageLog} FINAL
        WHERE project = ${project} AND alert = ${alert} ORDER BY at, id LIMIT ${ALERT_ROWS_MAX}`,
    );
  }

  notificationsOf(project: number, alert: number): Promise<PageNotification[]> {
    return this.store.rows<PageNotification>(
      sql`SELECT * FROM ${pageNotifications} FINAL
        WHERE project = ${project} AND alert = ${alert} ORDER BY due_ms, id LIMIT ${ALERT_ROWS_MAX}`,
    );
  }
}
