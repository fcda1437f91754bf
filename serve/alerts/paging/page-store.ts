import { SEVERITIES } from '../../../aggregate/alerts/model/alert.ts';
import type { Store } from '../../../infra/ports.ts';
import { chunkForIn, type Sql, sql } from '../../../infra/sql.ts';
import type { Table } from '../../../infra/table.ts';
import { pageLog, pageNotifications, pages } from '../model/oncall-tables.ts';
import type { SentMessage } from './bundling.ts';
import { type AlertPage, pageKey, type StepCall } from './escalation.ts';
import { type PageNotification, PageReader } from './page-reader.ts';

/** A person or channel that received a call of a page. */
interface CallRecipient {
  readonly alert: number;
  readonly policy: string;
  readonly round: number;
  readonly destination: string;
  readonly user: string;
}

/**
 * Calls are stored before their page, so a stored page may be one round behind its calls: hence `<=`. A call is obsolete
 * only if its page ended, is suppressed, or is in a later round.
 */
const IS_CALLING = sql`page.state NOT IN ('suppressed', 'acknowledged', 'closed') AND page.round <= notice.round`;

/** A notification and its page. */
export interface DueNotification extends PageNotification {
  /** True while the call is still wanted: the page is in the same round and neither ended nor suppressed. */
  readonly isCalling: boolean;
  /** True while the page can be acknowledged, also in a later round or while suppressed. */
  readonly isUnacknowledged: boolean;
}

/** The stored columns of a notification. */
export const withoutPageState = ({
  isCalling: _,
  isUnacknowledged: __,
  ...notification
}: DueNotification): PageNotification => notification;

const UNSENT_STATES: readonly StepCall['state'][] = ['pending', 'sending'];
/** Limit of the notifications of one message. */
const DUE_ROWS_MAX = 20_000;

/** 0 is the most severe. */
export const rankOf = (severity: string): number => (SEVERITIES as readonly string[]).indexOf(severity);

/** Name of the lock of a destination. Its holder sends and changes notifications of the destination. */
export const destinationLock = (project: number, destination: string): string =>
  `page/${project}/${destination}`;

const ROWS_PER_INSERT = 10_000;

/** Calls since the last round whose end was notified, one per destination. */
function calledSinceEnd(
  sent: readonly (CallRecipient & { readonly kind: string })[],
  current: number,
): CallRecipient[] {
  const ends = sent.filter(({ kind, round }) => kind === 'resolved' && round < current);
  const ended = Math.max(0, ...ends.map(({ round }) => round));
  const calls = sent.filter(({ kind, round }) => kind === 'triggered' && round > ended && round <= current);
  return [...new Map(calls.map((call) => [call.destination, call])).values()];
}

/** Reads and writes pages, notifications and the log. Writers hold the lock `paging/PROJECT`, or that of a destination. */
export class PageStore extends PageReader {
  readonly #store: Store;

  constructor(store: Store) {
    super(store);
    this.#store = store;
  }

  /** Due pages, the longest due first. */
  due(project: number, now: number, limit: number): Promise<AlertPage[]> {
    return this.#store.rows<AlertPage>(
      sql`SELECT * FROM ${pages} FINAL
        WHERE project = ${project} AND next_ms > 0 AND next_ms <= ${now} ORDER BY next_ms, alert LIMIT ${limit}`,
    );
  }

  inStates(project: number, states: readonly AlertPage['state'][]): Promise<AlertPage[]> {
    return this.#store.rows<AlertPage>(
      sql`SELECT * FROM ${pages} FINAL WHERE project = ${project} AND state IN ${states} ORDER BY alert, policy`,
    );
  }

  /** Projects with pages in some states. */
  async projectsIn(states: readonly AlertPage['state'][]): Promise<number[]> {
    const rows = await this.#store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${pages} FINAL WHERE state IN ${states}`,
    );
    return rows.map(({ project }) => project);
  }

  /** Due time of the next page of a project; 0 if there is none. */
  async nextDue(project: number): Promise<number> {
    const [row] = await this.#store.rows<{ next: number }>(
      sql`SELECT min(next_ms) AS next FROM ${pages} FINAL WHERE project = ${project} AND next_ms > 0`,
    );
    return row?.next ?? 0;
  }

  async projectsWithDue(now: number): Promise<number[]> {
    const rows = await this.#store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${pages} FINAL WHERE next_ms > 0 AND next_ms <= ${now}`,
    );
    return rows.map(({ project }) => project);
  }

  async save(changed: readonly AlertPage[]): Promise<void> {
    const rows = changed.map((page) => ({ ...page, version: page.version + 1 }));
    await this.#insert(pages, rows);
  }

  /** Adds notifications. Rows that changed since they were added are kept. */
  add(notifications: readonly PageNotification[]): Promise<void> {
    return this.#insert(pageNotifications, notifications);
  }

  /** Stores changed notifications. Callers hold the lock of the destination. */
  change(notifications: readonly PageNotification[]): Promise<void> {
    const rows = notifications.map((one) => ({ ...one, version: one.version + 1 }));
    return this.#insert(pageNotifications, rows);
  }

  /** Adds entries to the log of pages. */
  log(
    entries: readonly {
      readonly page: AlertPage;
      readonly at: number;
      readonly what: string;
      readonly by: string;
    }[],
  ) {
    const rows = entries.map(({ page, at, what, by }) => {
      const { project, alert, policy, round, cycle, step } = page;
      return { project, alert, policy, at, what, by, id: `${policy}/${round}.${cycle}.${step}/${what}` };
    });
    return this.#insert(pageLog, rows);
  }

  /** Calls of pages. An untried call waits for a bundle if its destination accepted a message after `acceptedSince`. */
  async callsOf(
    project: number,
    due: readonly AlertPage[],
    acceptedSince: number,
  ): Promise<(StepCall & Pick<PageNotification, 'alert' | 'policy' | 'round' | 'cycle' | 'step'>)[]> {
    const alerts = due.filter(({ step }) => step > 0).map(({ alert }) => alert);
    const found = [];
    for (const some of chunkForIn(alerts)) {
      found.push(
        ...(await this.#store.rows<Awaited<ReturnType<PageStore['callsOf']>>[number]>(
          sql`SELECT alert, policy, round, cycle, step, state, due_ms, attempts = 0 AND state = 'pending' AND destination IN (
              SELECT destination FROM ${pageNotifications} WHERE project = ${project} AND sent_ms > ${acceptedSince}) AS waitsForBundle
            FROM ${pageNotifications} FINAL
            WHERE project = ${project} AND alert IN ${some} AND kind = 'triggered'`,
        )),
      );
    }
    return found;
  }

  /**
   * Recipients who accepted calls of pages, or may have accepted them. Includes all rounds since the last notification of
   * the end, because each round may call other people.
   */
  async callRecipients(project: number, some: readonly AlertPage[]): Promise<CallRecipient[]> {
    const found: (CallRecipient & { readonly kind: string })[] = [];
    for (const alerts of chunkForIn(some.map(({ alert }) => alert))) {
      found.push(
        ...(await this.#store.rows<CallRecipient & { readonly kind: string }>(
          sql`SELECT DISTINCT alert, policy, round, destination, user, kind FROM ${pageNotifications} FINAL
            WHERE project = ${project} AND alert IN ${alerts} AND (kind = 'resolved'
              OR kind = 'triggered' AND (state IN ('sent', 'sending') OR is_doubtful))`,
        )),
      );
    }
    const ofPage = Map.groupBy(found, pageKey);
    return some.flatMap((page) => calledSinceEnd(ofPage.get(pageKey(page)) ?? [], page.round));
  }

  /** Due notifications of a destination, the most severe first, then the oldest. */
  dueFor(project: number, destination: string, now: number): Promise<DueNotification[]> {
    const isDue = sql`state IN ${UNSENT_STATES} AND due_ms <= ${now}`;
    return this.#withPages(project, destination, isDue);
  }

  /** Due time of the next pending notification of a destination, possibly in the past; 0 if there is none. */
  async nextFor(project: number, destination: string): Promise<number> {
    const [row] = await this.#store.rows<{ next: number }>(
      sql`SELECT min(due_ms) AS next FROM ${pageNotifications} FINAL
        WHERE project = ${project} AND destination = ${destination} AND state = 'pending'`,
    );
    return row?.next ?? 0;
  }

  /** Messages of calls, or of other kinds, that a destination accepted after `since`, oldest first. */
  async sentTo(
    project: number,
    destination: string,
    { since, isCall }: { readonly since: number; readonly isCall: boolean },
  ): Promise<SentMessage[]> {
    const rows = await this.#store.rows<{ at: number; rank: number }>(
      sql`SELECT max(sent_ms) AS at, min(indexOf(${SEVERITIES}, severity)) - 1 AS rank FROM ${pageNotifications} FINAL
        WHERE project = ${project} AND destination = ${destination} AND state = 'sent' AND sent_ms > ${since}
          AND (kind = 'triggered') = ${isCall}
        GROUP BY message ORDER BY at`,
    );
    return rows;
  }

  /** Destinations with due notifications. */
  destinationsWithDue(now: number): Promise<{ readonly project: number; readonly destination: string }[]> {
    return this.#store.rows(
      sql`SELECT DISTINCT project, destination FROM ${pageNotifications} FINAL
        WHERE state IN ${UNSENT_STATES} AND due_ms <= ${now} AND next_ms <= ${now}`,
    );
  }

  /** Notifications of a message. */
  ofMessage(project: number, destination: string, message: string): Promise<DueNotification[]> {
    return this.#withPages(project, destination, sql`message = ${message}`);
  }

  /** Notifications of a destination, the most severe and then the oldest first. */
  #withPages(project: number, destination: string, condition: Sql): Promise<DueNotification[]> {
    return this.#store.rows<DueNotification>(
      sql`SELECT notice.*, ${IS_CALLING} AS isCalling, page.state NOT IN ('acknowledged', 'closed') AS isUnacknowledged
        FROM (SELECT * FROM ${pageNotifications} FINAL
          WHERE project = ${project} AND destination = ${destination} AND ${condition}) AS notice
        LEFT JOIN (SELECT alert, policy, state, round FROM ${pages} FINAL WHERE project = ${project}) AS page
          ON page.alert = notice.alert AND page.policy = notice.policy
        ORDER BY indexOf(${SEVERITIES}, notice.severity), notice.created_ms, notice.id LIMIT ${DUE_ROWS_MAX}`,
    );
  }

  async #insert(table: Table, rows: readonly object[]): Promise<void> {
    for (let i = 0; i < rows.length; i += ROWS_PER_INSERT)
      await this.#store.insert(table, rows.slice(i, i + ROWS_PER_INSERT) as Record<string, unknown>[]);
  }
}
