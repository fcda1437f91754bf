import { cleanLine } from '../../../aggregate/alerts/formats/values.ts';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { User } from '../../accounts/tables.ts';
import type { Records } from '../../stored-records/records.ts';
import { consumerLock } from '../events/event-consumers.ts';
import { RequestRefused } from '../model/access.ts';
import type { Incident } from '../model/tables.ts';
import type { AlertActions } from './alert-actions.ts';
import type { AlertReader } from './alert-reader.ts';

export const DESCRIPTION_CHARACTERS_MAX = 100_000;

interface IncidentChange {
  readonly title?: string;
  readonly description?: string;
  readonly isClosed?: boolean;
}

interface IncidentsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly records: Records<Incident>;
  readonly actions: AlertActions;
  readonly reader: AlertReader;
}

/** The incidents of projects, as users create and change them. */
export class Incidents {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #records: Records<Incident>;
  readonly #actions: AlertActions;
  readonly #reader: AlertReader;

  constructor({ store, clock, locks, records, actions, reader }: IncidentsDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#locks = locks;
    this.#records = records;
    this.#actions = actions;
    this.#reader = reader;
  }

  /** One page of the incidents of a project, newest first, and the total number. `store` applies the query limits of the caller. */
  async list(
    store: Pick<Store, 'rows'>,
    projectId: string,
    page: { readonly number: number; readonly size: number },
  ): Promise<{ readonly rows: readonly Incident[]; readonly total: number }> {
    const where = ofProject(projectId);
    const [rows, [counted]] = await Promise.all([
      store.rows<Incident>(
        sql`SELECT * FROM ${this.#records.table} FINAL WHERE ${where} ORDER BY iid DESC
          LIMIT ${page.size} OFFSET ${(page.number - 1) * page.size}`,
      ),
      store.rows<{ total: number }>(
        sql`SELECT uniqExact(iid) AS total FROM ${this.#records.table} WHERE ${where}`,
      ),
    ]);
    return { rows, total: counted?.total ?? 0 };
  }

  async get(projectId: string, iid: number): Promise<Incident> {
    const incident = await this.#records.get(`${projectId}/${iid}`);
    if (incident === null) throw new RequestRefused('not_found', 'Incident Not Found');
    return incident;
  }

  /** Creates an incident from an alert, or returns the existing incident of the alert. */
  async createFrom(projectId: string, alert: Alert, author: User | null): Promise<Incident> {
    const incident = await this.#locks.run(consumerLock(INCIDENTS, projectId), async (lease) => {
      const known = (await incidentsOfAlerts(this.#records, projectId, [alert.iid])).get(alert.iid);
      if (known) return known;
      const iid = (await newestIncident(this.#store, this.#records, projectId)) + 1;
      const created = incidentOf(alert, iid, {
        author: author?.id ?? '',
        at: this.#clock.now(),
        position: alert.position,
      });
      await lease.ensure();
      await this.#records.add(created);
      return { ...created, version: 1 };
    });
    if (alert.incident !== incident.iid) {
      await this.#actions.change(projectId, alert.iid, author, { incident: incident.iid });
    }
    return incident;
  }

  /** Changes an incident. When a user closes it, its alert is resolved. */
  async change(projectId: string, iid: number, by: User | null, change: IncidentChange): Promise<Incident> {
    const now = this.#clock.now();
    const entered = change.title === undefined ? undefined : cleanLine(change.title);
    if (entered === '') {
      throw new RequestRefused('bad_request', 'Enter a title.', 'title');
    }
    const incident = await this.#records.change(`${projectId}/${iid}`, async (current) => {
      if (current === null) throw new RequestRefused('not_found', 'Incident Not Found');
      const closed =
        change.isClosed === undefined ? current.closed_ms : change.isClosed ? current.closed_ms || now : 0;
      const { description = current.description } = change;
      const title = entered ?? current.title;
      // Earlier changes of the alert must not undo a close or reopen by a user.
      const alert =
        change.isClosed === undefined ? null : await this.#reader.find(Number(projectId), current.alert_iid);
      const position = Math.max(current.position, alert?.position ?? 0);
      const next = { ...current, title, description, closed_ms: closed, updated_ms: now, position };
      return { next, result: next };
    });
    if (change.isClosed === true && by !== null) {
      await this.#actions.change(projectId, incident.alert_iid, by, { status: 'resolved' });
    }
    return { ...incident, version: 0 };
  }
}

/** Name of the consumer that creates and closes incidents. Its lock also protects the numbering of incidents. */
export const INCIDENTS = 'incidents';

/** Ids begin with the project and a slash, so the engine reads only rows of the project. `0` follows the slash in ASCII. */
const ofProject = (projectId: string) =>
  sql`project_id = ${projectId} AND id >= ${`${projectId}/`} AND id < ${`${projectId}0`}`;

/** The incidents of alerts, by the numbers of the alerts. */
export async function incidentsOfAlerts(
  records: Records<Incident>,
  projectId: string,
  iids: readonly number[],
): Promise<ReadonlyMap<number, Incident>> {
  const where = sql`${ofProject(projectId)} AND alert_iid IN ${iids}`;
  const found = await records.find(where, 'iid DESC', iids.length);
  return new Map(found.map((incident) => [incident.alert_iid, incident]));
}

/** The highest number of an incident of a project; 0 if there is none. */
export async function newestIncident(
  store: Store,
  { table }: Records<Incident>,
  projectId: string,
): Promise<number> {
  const [row] = await store.rows<{ newest: number }>(
    sql`SELECT max(iid) AS newest FROM ${table} WHERE ${ofProject(projectId)}`,
  );
  return row?.newest ?? 0;
}

interface IncidentOrigin {
  /** Id of the user; '' if the project creates its incidents automatically. */
  readonly author: string;
  readonly at: number;
  /** Position of the newest event of the alert. */
  readonly position: number;
}

/** A new incident of an alert. */
export const incidentOf = (
  alert: Alert,
  iid: number,
  { author, at, position }: IncidentOrigin,
): Omit<Incident, 'version'> => ({
  id: `${alert.project}/${iid}`,
  expires_ms: 0,
  project_id: String(alert.project),
  iid,
  alert_iid: alert.iid,
  title: alert.title,
  description: descriptionOf(alert),
  severity: alert.severity,
  author_id: author,
  created_ms: at,
  updated_ms: at,
  closed_ms: 0,
  position,
});

/** The facts of the alert, followed by the Markdown that its source added. */
function descriptionOf(alert: Alert): string {
  const facts = [
    ['Start', new Date(alert.started_ms).toISOString()],
    ['Severity', alert.severity],
    ['Service', alert.service],
    ['Monitoring tool', alert.tool],
    ['Hosts', alert.hosts.join(', ')],
    ['Query', alert.query === '' ? '' : `\`${alert.query}\``],
    ['Runbook', alert.runbook],
    ['Alert', `#${alert.iid}`],
  ].filter(([, value]) => value !== '');
  const list = facts.map(([name, value]) => `- **${name}:** ${value}`).join('\n');
  const parts = [alert.description, list, alert.incident_markdown].filter((part) => part !== '');
  return parts.join('\n\n').slice(0, DESCRIPTION_CHARACTERS_MAX);
}
