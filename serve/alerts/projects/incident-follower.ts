import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Lease } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { Tracer } from '../../../infra/tracing/tracer.ts';
import type { Records } from '../../stored-records/records.ts';
import type { ConsequenceMeasures } from '../consequences/consequence-measures.ts';
import type { EventConsumer } from '../consequences/consequences.ts';
import { ALERT_LATE_MS_MAX, type DecidedChange, tracesOf } from '../consequences/event-history.ts';
import {
  DESCRIPTION_CHARACTERS_MAX,
  INCIDENTS,
  incidentOf,
  incidentsOfAlerts,
  newestIncident,
} from './incidents.ts';
import type { Projects } from './projects.ts';
import type { Incident, Project } from './tables.ts';

interface IncidentFollowerDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly records: Records<Incident>;
  readonly projects: Projects;
  readonly pipeline: AlertPipeline;
  readonly measures: ConsequenceMeasures;
}

/** Creates incidents for new alerts and closes those of resolved alerts, where the project is set up for it. */
export class IncidentFollower implements EventConsumer {
  readonly name = INCIDENTS;
  readonly #deps: IncidentFollowerDependencies;

  constructor(dependencies: IncidentFollowerDependencies) {
    this.#deps = dependencies;
  }

  async apply(number: number, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
    const { clock, projects, measures } = this.#deps;
    const project = await projects.find(String(number));
    const relevant = changes.filter(({ name }) => name !== 'acknowledged');
    if (project === null || relevant.length === 0) return true;
    if (!(await this.#updateTraced(project, relevant, lease))) return false;
    for (const { at } of relevant) {
      measures.lateness.observe({ consequence: 'incident' }, Math.max(0, clock.now() - at) / 1000);
    }
    return true;
  }

  /** As a span that follows from the requests that changed the alerts. */
  async #updateTraced(project: Project, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
    const { tracer } = this.#deps;
    const update = () => this.#update(project, changes, lease);
    if (!tracer.isOn) return update();
    const traces = await tracesOf(this.#deps, Number(project.id), changes);
    return tracer.span('update incidents', { causes: [...traces.values()] }, update);
  }

  /** False when the alerts of some events are not stored yet. */
  async #update(project: Project, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
    const { records } = this.#deps;
    const created = new Map(changes.filter(({ name }) => name === 'created').map((of) => [of.iid, of]));
    const resolved = new Map(changes.filter(({ name }) => name === 'resolved').map((of) => [of.iid, of]));
    const closes = project.closes_incidents;
    const wanted = project.makes_incidents ? [...created.keys()] : [];
    const iids = [...new Set([...wanted, ...(closes ? resolved.keys() : [])])];
    if (iids.length === 0) return true;
    const found = await this.#alertsOf(project, wanted);
    if (wanted.some((iid) => !found.has(iid) && this.#mayCome(created.get(iid)))) return false;
    const known = await incidentsOfAlerts(records, project.id, iids);
    const missing = wanted.filter((iid) => found.has(iid) && !known.has(iid));
    let next = missing.length === 0 ? 0 : await newestIncident(this.#deps.store, records, project.id);
    const added = missing.map((iid) => {
      const { at, position } = created.get(iid) as DecidedChange;
      const incident = incidentOf(found.get(iid) as Alert, ++next, { author: '', at, position });
      const over = resolved.get(iid);
      return closes && over ? closedAt(incident, over) : incident;
    });
    await lease.ensure();
    await Promise.all(added.map((incident) => records.add(incident)));
    if (closes) await this.#close([...known.values()], resolved);
    const all = [...known.values(), ...added];
    await this.#link(
      all.filter(({ alert_iid, iid }) => found.has(alert_iid) && found.get(alert_iid)?.incident !== iid),
    );
    return true;
  }

  /** Whether the alert of an event that has none may still be written. */
  #mayCome(change: DecidedChange | undefined): boolean {
    return change !== undefined && this.#deps.clock.now() - change.at < ALERT_LATE_MS_MAX;
  }

  async #alertsOf({ id }: Project, iids: readonly number[]): Promise<ReadonlyMap<number, Alert>> {
    if (iids.length === 0) return new Map();
    const rows = await this.#deps.store.rows<Alert>(
      sql`SELECT * REPLACE (leftUTF8(incident_markdown, ${DESCRIPTION_CHARACTERS_MAX}) AS incident_markdown)
        FROM ${alerts} FINAL WHERE project = ${Number(id)} AND iid IN ${iids}`,
    );
    return new Map(rows.map((alert) => [alert.iid, alert]));
  }

  async #close(known: readonly Incident[], resolved: ReadonlyMap<number, DecidedChange>): Promise<void> {
    const due = known.filter(({ alert_iid }) => resolved.has(alert_iid));
    await Promise.all(
      due.map(({ id, alert_iid }) =>
        this.#deps.records.change(id, (current) => {
          const change = resolved.get(alert_iid) as DecidedChange;
          // A user may have reopened it since it was closed by this event.
          const isKnown = current === null || current.closed_ms > 0 || current.position >= change.position;
          return isKnown ? { result: undefined } : { next: closedAt(current, change), result: undefined };
        }),
      ),
    );
  }

  /** Stores the numbers of incidents of a project with their alerts. */
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

const closedAt = <Row extends Omit<Incident, 'version'>>(incident: Row, change: DecidedChange): Row => ({
  ...incident,
  closed_ms: change.at,
  updated_ms: change.at,
  position: change.position,
});
