import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { StoredEvent } from '../../../aggregate/alerts/processor/processor.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { Records } from '../../records/records.ts';
import { RequestRefused } from './access.ts';
import type { AlertActions } from './alert-actions.ts';
import type { Projects } from './projects.ts';
import type { Incident, Project } from './tables.ts';

const INCIDENTS_MAX = 500;
const DESCRIPTION_CHARACTERS_MAX = 100_000;

export interface IncidentChange {
  readonly title?: string;
  readonly description?: string;
  readonly isClosed?: boolean;
}

interface IncidentsDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly records: Records<Incident>;
  readonly projects: Projects;
  readonly actions: AlertActions;
}

/** Incidents that are created from alerts. */
export class Incidents {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #locks: Locks;
  readonly #records: Records<Incident>;
  readonly #projects: Projects;
  readonly #actions: AlertActions;

  constructor({ store, clock, locks, records, projects, actions }: IncidentsDependencies) {
    this.#store = store;
    this.#clock = clock;
    this.#locks = locks;
    this.#records = records;
    this.#projects = projects;
    this.#actions = actions;
  }

  /** Newest first. */
  list(projectId: string): Promise<Incident[]> {
    return this.#records.find(sql`project_id = ${projectId}`, 'iid DESC', INCIDENTS_MAX);
  }

  async get(projectId: string, iid: number): Promise<Incident> {
    const incident = await this.#records.get(`${projectId}/${iid}`);
    if (incident === null) throw new RequestRefused('not_found', 'Incident Not Found');
    return incident;
  }

  /** Creates an incident from an alert, or returns the one that the alert has. */
  async createFrom(projectId: string, alert: Alert, author: User | null): Promise<Incident> {
    const incident = await this.#locks.run(`incidents/${projectId}`, async (lease) => {
      const known = await this.#records.find(
        sql`project_id = ${projectId} AND alert_iid = ${alert.iid}`,
        'iid',
        1,
      );
      if (known[0]) return known[0];
      const [row] = await this.#store.rows<{ newest: number }>(
        sql`SELECT max(iid) AS newest FROM ${this.#records.table} WHERE project_id = ${projectId}`,
      );
      const iid = (row?.newest ?? 0) + 1;
      const now = this.#clock.now();
      const created = {
        id: `${projectId}/${iid}`,
        expires_ms: 0,
        project_id: projectId,
        iid,
        alert_iid: alert.iid,
        title: alert.title,
        description: descriptionOf(alert),
        severity: alert.severity,
        author_id: author?.id ?? '',
        created_ms: now,
        updated_ms: now,
        closed_ms: 0,
      };
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
    if (change.title !== undefined && change.title.trim() === '') {
      throw new RequestRefused('bad_request', 'Enter a title.', 'title');
    }
    const incident = await this.#records.change(`${projectId}/${iid}`, (current) => {
      if (current === null) throw new RequestRefused('not_found', 'Incident Not Found');
      const closed =
        change.isClosed === undefined ? current.closed_ms : change.isClosed ? current.closed_ms || now : 0;
      const { title = current.title, description = current.description } = change;
      const next = { ...current, title, description, closed_ms: closed, updated_ms: now };
      return { next, result: next };
    });
    if (change.isClosed === true && by !== null) {
      await this.#actions.change(projectId, incident.alert_iid, by, { status: 'resolved' });
    }
    return { ...incident, version: 0 };
  }

  /** Creates incidents for new alerts and closes those of resolved alerts, where the project is set up for it. */
  async followAlerts(events: readonly StoredEvent[]): Promise<void> {
    for (const { head, outcomes, changed } of events) {
      if (!outcomes.some((outcome) => outcome === 'created' || outcome === 'resolved')) continue;
      const project = await this.#projects.find(String(head.project));
      if (project !== null) for (const alert of changed) await this.#followAlert(project, alert);
    }
  }

  async #followAlert(project: Project, alert: Alert): Promise<void> {
    const isNew = alert.incident === 0 && alert.status === 'triggered' && alert.events === 1;
    if (project.makes_incidents && isNew) await this.createFrom(project.id, alert, null);
    if (project.closes_incidents && alert.incident > 0 && alert.status === 'resolved') {
      await this.change(project.id, alert.incident, null, { isClosed: true });
    }
  }
}

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
