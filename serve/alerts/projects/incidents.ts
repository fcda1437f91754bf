import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { StoredEvent } from '../../../aggregate/alerts/processor/processor.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { User } from '../../identity/accounts/tables.ts';
import type { AlertServices } from '../services.ts';
import { RequestRefused } from './access.ts';
import { changeAlert } from './actions.ts';
import type { Incident, Project } from './tables.ts';

// Incidents: what is worked on because of an alert.

export const INCIDENTS_SHOWN = 500;
const DESCRIPTION_CHARACTERS_MAX = 100_000;

export function incidentsOf(services: AlertServices, projectId: string): Promise<Incident[]> {
  return services.incidents.find(sql`project_id = ${projectId}`, 'iid DESC', INCIDENTS_SHOWN);
}

export async function incidentOf(services: AlertServices, projectId: string, iid: number): Promise<Incident> {
  const incident = await services.incidents.get(`${projectId}/${iid}`);
  if (incident === null) throw new RequestRefused('not_found', 'Incident Not Found');
  return incident;
}

/** Makes an incident of an alert, or returns the one that it has. */
export async function openIncident(
  services: AlertServices,
  projectId: string,
  alert: Alert,
  author: User | null,
): Promise<Incident> {
  const incident = await services.accounts.locks.run(`incidents/${projectId}`, async (lease) => {
    const known = await services.incidents.find(
      sql`project_id = ${projectId} AND alert_iid = ${alert.iid}`,
      'iid',
      1,
    );
    if (known[0]) return known[0];
    const [row] = await services.accounts.store.rows<{ newest: number }>(
      sql`SELECT max(iid) AS newest FROM ${services.incidents.table} WHERE project_id = ${projectId}`,
    );
    const iid = (row?.newest ?? 0) + 1;
    const now = services.accounts.clock.now();
    const made = {
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
    await services.incidents.add(made);
    return { ...made, version: 1 };
  });
  if (alert.incident !== incident.iid) {
    await changeAlert(services, projectId, alert.iid, author, { incident: incident.iid });
  }
  return incident;
}

/** What is known of the alert, and behind it the extended text of its source. */
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

export interface IncidentChange {
  readonly title?: string;
  readonly description?: string;
  readonly isClosed?: boolean;
}

/** Changes an incident. Closing it resolves its alert. */
export async function changeIncident(
  services: AlertServices,
  projectId: string,
  iid: number,
  by: User | null,
  change: IncidentChange,
): Promise<Incident> {
  const now = services.accounts.clock.now();
  if (change.title !== undefined && change.title.trim() === '') {
    throw new RequestRefused('bad_request', 'A title is required.', 'title');
  }
  const incident = await services.incidents.change(`${projectId}/${iid}`, (current) => {
    if (current === null) throw new RequestRefused('not_found', 'Incident Not Found');
    const closed =
      change.isClosed === undefined ? current.closed_ms : change.isClosed ? current.closed_ms || now : 0;
    const { title = current.title, description = current.description } = change;
    const next = { ...current, title, description, closed_ms: closed, updated_ms: now };
    return { next, result: next };
  });
  if (change.isClosed === true && by !== null) {
    await changeAlert(services, projectId, incident.alert_iid, by, { status: 'resolved' });
  }
  return { ...incident, version: 0 };
}

/** Makes incidents of new alerts and closes those of resolved ones, where the project is set up so. */
export async function followAlerts(services: AlertServices, shown: readonly StoredEvent[]): Promise<void> {
  for (const { head, outcomes, changed } of shown) {
    if (!outcomes.some((outcome) => outcome === 'created' || outcome === 'resolved')) continue;
    const projectId = String(head.project);
    const project = await services.projects.get(projectId);
    if (project !== null) for (const alert of changed) await followAlert(services, project, alert);
  }
}

async function followAlert(services: AlertServices, project: Project, alert: Alert): Promise<void> {
  if (project.makes_incidents && alert.incident === 0 && alert.status === 'triggered' && alert.events === 1) {
    await openIncident(services, project.id, alert, null);
  }
  if (project.closes_incidents && alert.incident > 0 && alert.status === 'resolved') {
    await changeIncident(services, project.id, alert.incident, null, { isClosed: true });
  }
}
