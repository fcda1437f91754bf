import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Lease } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { inSpan } from '../../../infra/tracing/spans.ts';
import type { Records } from '../../stored-records/records.ts';
import type { ConsumerMetrics } from '../events/consumer-metrics.ts';
import type { EventConsumer } from '../events/event-consumers.ts';
import { ALERT_WAIT_MS_MAX, type StoredAlertChange, tracesOf } from '../events/event-history.ts';
import type { Incident, Project } from '../model/tables.ts';
import {
  DESCRIPTION_CHARACTERS_MAX,
  INCIDENTS,
  incidentOf,
  incidentsOfAlerts,
  newestIncident,
} from './incidents.ts';
import type { Projects } from './projects.ts';

interface IncidentUpdaterDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly records: Records<Incident>;
  readonly projects: Projects;
  readonly pipeline: AlertPipeline;
  readonly metrics: ConsumerMetrics;
}

/** Changes of alerts that can change their incidents. */
const INCIDENT_CHANGES: ReadonlySet<StoredAlertChange['name']> = new Set([
  'created',
  'raised',
  'resolved',
  'reopened',
]);

/**
 * Creates an incident for a new alert and closes it when the alert is resolved, if the settings of the project say so.
 * An incident is reopened with its alert, and takes over a raised severity.
 */
export class IncidentUpdater implements EventConsumer {
  readonly name = INCIDENTS;
  readonly #deps: IncidentUpdaterDependencies;

  constructor(dependencies: IncidentUpdaterDependencies) {
    this.#deps = dependencies;
  }

  async apply(number: number, changes: readonly StoredAlertChange[], lease: Lease): Promise<boolean> {
    const { clock, projects, metrics } = this.#deps;
    const project = await projects.find(String(number));
    const relevant = changes.filter(({ name }) => INCIDENT_CHANGES.has(name));
    if (project === null || relevant.length === 0) return true;
    if (!(await this.#updateTraced(project, relevant, lease))) return false;
    for (const { at } of relevant) {
      metrics.lateness.observe({ consequence: 'incident' }, Math.max(0, clock.now() - at) / 1000);
    }
    return true;
  }

  /** Runs the update in a span that links to the requests that changed the alerts. */
  async #updateTraced(
    project: Project,
    changes: readonly StoredAlertChange[],
    lease: Lease,
  ): Promise<boolean> {
    const traces = await tracesOf(this.#deps.store, Number(project.id), changes);
    const options = { causes: [...traces.values()] };
    return inSpan('update incidents', options, () => this.#update(project, changes, lease));
  }

  /** Returns false if the alerts of some events are not stored yet. */
  async #update(project: Project, changes: readonly StoredAlertChange[], lease: Lease): Promise<boolean> {
    const { records } = this.#deps;
    const created = new Map(
      changes.filter(({ name }) => name === 'created').map((change) => [change.iid, change]),
    );
    const later = Map.groupBy(
      changes.filter(({ name }) => name !== 'created' && (name !== 'resolved' || project.closes_incidents)),
      ({ iid }) => iid,
    );
    const wanted = project.makes_incidents ? [...created.keys()] : [];
    const iids = [...new Set([...wanted, ...later.keys()])];
    if (iids.length === 0) return true;
    const raised = changes.filter(({ name }) => name === 'raised');
    const found = await this.#alertsOf(project, [...wanted, ...raised.map(({ iid }) => iid)]);
    const isLate = (change: StoredAlertChange) =>
      (found.get(change.iid)?.position ?? 0) < change.position && this.#mayCome(change);
    if ([...wanted.map((iid) => created.get(iid) as StoredAlertChange), ...raised].some(isLate)) return false;
    const known = await incidentsOfAlerts(records, project.id, iids);
    const missing = wanted.filter((iid) => found.has(iid) && !known.has(iid));
    let next = missing.length === 0 ? 0 : await newestIncident(this.#deps.store, records, project.id);
    const added = missing.map((iid) => {
      const { at, position } = created.get(iid) as StoredAlertChange;
      const alert = found.get(iid) as Alert;
      const incident = incidentOf(alert, ++next, { author: '', at, position });
      return (later.get(iid) ?? []).reduce((current, change) => withChange(current, change, alert), incident);
    });
    await lease.ensure();
    await Promise.all(added.map((incident) => records.add(incident)));
    await this.#follow([...known.values()], later, found);
    const all = [...known.values(), ...added];
    await this.#link(
      all.filter(({ alert_iid, iid }) => found.has(alert_iid) && found.get(alert_iid)?.incident !== iid),
    );
    return true;
  }

  /** True while the missing alert of an event may still be stored. */
  #mayCome(change: StoredAlertChange): boolean {
    return this.#deps.clock.now() - change.at < ALERT_WAIT_MS_MAX;
  }

  async #alertsOf({ id }: Project, iids: readonly number[]): Promise<ReadonlyMap<number, Alert>> {
    if (iids.length === 0) return new Map();
    const rows = await this.#deps.store.rows<Alert>(
      sql`SELECT * REPLACE (leftUTF8(incident_markdown, ${DESCRIPTION_CHARACTERS_MAX}) AS incident_markdown)
        FROM ${alerts} FINAL WHERE project = ${Number(id)} AND iid IN ${iids}`,
    );
    return new Map(rows.map((alert) => [alert.iid, alert]));
  }

  async #follow(
    known: readonly Incident[],
    later: ReadonlyMap<number, readonly StoredAlertChange[]>,
    found: ReadonlyMap<number, Alert>,
  ): Promise<void> {
    const due = known.filter(({ alert_iid }) => later.has(alert_iid));
    await Promise.all(
      due.map(({ id, alert_iid }) =>
        this.#deps.records.change(id, (current) => {
          if (current === null) return { result: undefined };
          // Earlier events must not undo what a user changed after them.
          const changes = (later.get(alert_iid) ?? []).filter(({ position }) => position > current.position);
          const next = changes.reduce(
            (row, change) => withChange(row, change, found.get(alert_iid)),
            current,
          );
          return next === current ? { result: undefined } : { next, result: undefined };
        }),
      ),
    );
  }

  /** Stores the number of each incident in its alert. */
  async #link(incidents: readonly Omit<Incident, 'version'>[]): Promise<void> {
    const { pipeline } = this.#deps;
    const [first] = incidents;
    if (first === undefined) return;
    pipeline.requireRoom(Number(first.project_id));
    await Promise.all(
      incidents.map(({ project_id, alert_iid, iid }) =>
        pipeline.applyAction({
          project: Number(project_id),
          iid: alert_iid,
          by: '',
          change: { incident: iid },
        }),
      ),
    );
  }
}

/** Applies a change of the alert to its incident. Returns the same object if nothing changes. */
function withChange<Row extends Omit<Incident, 'version'>>(
  incident: Row,
  { name, at, position }: StoredAlertChange,
  alert: Alert | undefined,
): Row {
  const isClosed = incident.closed_ms > 0;
  const next = { ...incident, updated_ms: at, position };
  if (name === 'resolved' && !isClosed) return { ...next, closed_ms: at };
  if (name === 'reopened' && isClosed) return { ...next, closed_ms: 0 };
  const isRaised = name === 'raised' && alert !== undefined && alert.severity !== incident.severity;
  return isRaised ? { ...next, severity: alert.severity } : incident;
}
