import { setTimeout as pause } from 'node:timers/promises';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { alerts } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Lease, Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import type { Tracer } from '../../../infra/tracing/tracer.ts';
import type { Records } from '../../stored-records/records.ts';
import type { ConsumerTask, EventConsumer } from '../consequences/consequence-loop.ts';
import type { ConsequenceMeasures } from '../consequences/consequence-measures.ts';
import {
  ALERT_LATE_MS,
  ALERT_LATE_MS_MAX,
  changesAfter,
  type DecidedChange,
  projectsWithChanges,
  tracesOf,
} from '../consequences/event-history.ts';
import type { TaskResult } from '../consequences/fair-schedule.ts';
import type { ConsequenceProgress } from '../consequences/progress.ts';
import {
  DESCRIPTION_CHARACTERS_MAX,
  incidentOf,
  incidentsLock,
  incidentsOfAlerts,
  newestIncident,
} from './incidents.ts';
import type { Projects } from './projects.ts';
import type { Incident, Project } from './tables.ts';

/** Name of this consumer of events. */
export const INCIDENTS = 'incidents';

const EVENTS_PER_ROUND = 250;
/** How long a change of the settings waits for the events that were decided before it. */
const CATCH_UP_MS_MAX = 10_000;

interface IncidentFollowerDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly tracer: Tracer;
  readonly locks: Locks;
  readonly records: Records<Incident>;
  readonly projects: Projects;
  readonly pipeline: AlertPipeline;
  readonly progress: ConsequenceProgress;
  readonly measures: ConsequenceMeasures;
}

/**
 * Creates incidents for new alerts and closes those of resolved alerts, where the project is set up for it. It follows
 * the stored events in their order, one process at a time, and stores how far it is: a kill only delays.
 */
export class IncidentFollower implements EventConsumer {
  readonly #deps: IncidentFollowerDependencies;

  constructor(dependencies: IncidentFollowerDependencies) {
    this.#deps = dependencies;
  }

  async tasksOf(): Promise<readonly string[]> {
    return [INCIDENTS];
  }

  async unfinished(): Promise<readonly ConsumerTask[]> {
    const { store, progress, projects } = this.#deps;
    const rows = (await progress.list()).filter(({ target }) => target === INCIDENTS);
    const positions = new Map(rows.map(({ project, position }) => [project, position]));
    // Projects of an older version; their first round begins with what happens from then on.
    const begin = (await projects.numbers()).filter((project) => !positions.has(project));
    const changed = await projectsWithChanges(store, positions);
    return [...begin, ...changed].map((project) => ({ project, name: INCIDENTS }));
  }

  /** Carries out what is next in a project. */
  run(project: number): Promise<TaskResult> {
    return this.#deps.locks.run(incidentsLock(project), (lease) => this.#round(project, lease));
  }

  /** Carries out what was decided before a project is set up in another way. */
  async catchUp(project: number): Promise<void> {
    const { clock, pipeline } = this.#deps;
    await pipeline.waitUntilWritten();
    const deadline = performance.now() + CATCH_UP_MS_MAX;
    while (performance.now() < deadline) {
      const { dueMs } = await this.run(project);
      if (dueMs === null) return;
      await pause(Math.max(0, Math.min(ALERT_LATE_MS, dueMs - clock.now())));
    }
  }

  async #round(number: number, lease: Lease): Promise<TaskResult> {
    const { store, clock, progress, projects, measures } = this.#deps;
    const before = (await progress.get(number, INCIDENTS)) ?? (await progress.skipHistory(number, INCIDENTS));
    const { changes, position, isFull } = await changesAfter(
      store,
      number,
      before.position,
      EVENTS_PER_ROUND,
    );
    if (position === before.position) return { dueMs: null };
    const project = await projects.find(String(number));
    const relevant = changes.filter(({ name }) => name !== 'acknowledged');
    if (project !== null && relevant.length > 0 && !(await this.#applyTraced(project, relevant, lease))) {
      return { dueMs: clock.now() + ALERT_LATE_MS };
    }
    await lease.ensure();
    await progress.save(before, { position });
    for (const { at } of relevant) {
      measures.lateness.observe({ consequence: 'incident' }, Math.max(0, clock.now() - at) / 1000);
    }
    return { dueMs: isFull ? clock.now() : null };
  }

  /** As a span that follows from the requests that changed the alerts. */
  async #applyTraced(project: Project, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
    const { tracer } = this.#deps;
    const apply = () => this.#apply(project, changes, lease);
    if (!tracer.isOn) return apply();
    const traces = await tracesOf(this.#deps, Number(project.id), changes);
    return tracer.span('update incidents', { causes: [...traces.values()] }, apply);
  }

  /** False when the alerts of some events are not stored yet. */
  async #apply(project: Project, changes: readonly DecidedChange[], lease: Lease): Promise<boolean> {
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
