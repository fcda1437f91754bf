import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { consumerProgress } from '../model/tables.ts';
import { newestPosition } from './event-history.ts';

/** The position of a consumer, webhook or on-call link in the events of a project. */
export interface Progress {
  readonly project: number;
  /** Name of a consumer of events, or the id of a webhook or an on-call link. */
  readonly target: string;
  /** All events up to this position are processed. */
  readonly position: number;
  /** Time, status and fault of the newest request to a receiver. The status is 0 if there was no response. */
  readonly at: number;
  readonly status: number;
  readonly fault: string;
  /** Failures since the receiver last accepted a request, and the time of the next retry; 0 while it accepts requests. */
  readonly failures: number;
  readonly retry_ms: number;
  readonly version: number;
}

type ProgressChanges = Partial<Omit<Progress, 'project' | 'target' | 'at' | 'version'>>;

interface ProgressDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly pipeline: AlertPipeline;
}

/** The durable positions in the events of projects. */
export class ConsumerProgress {
  readonly #deps: ProgressDependencies;

  constructor(dependencies: ProgressDependencies) {
    this.#deps = dependencies;
  }

  /** Without a project, returns the rows of all projects. */
  list(project?: number): Promise<Progress[]> {
    const where = project === undefined ? sql`1` : sql`project = ${project}`;
    return this.#deps.store.rows<Progress>(sql`SELECT * FROM ${consumerProgress} FINAL WHERE ${where}`);
  }

  async get(project: number, target: string): Promise<Progress | undefined> {
    const [row] = await this.#deps.store.rows<Progress>(
      sql`SELECT * FROM ${consumerProgress} FINAL WHERE project = ${project} AND target = ${target}`,
    );
    return row;
  }

  /** Safe without a compare-and-set, because the target's lock admits one process at a time. */
  async save(before: Progress, changes: ProgressChanges): Promise<Progress> {
    const now = this.#deps.clock.now();
    const at = changes.status === undefined ? before.at : now;
    const next = { ...before, ...changes, at, version: Math.max(now, before.version + 1) };
    await this.#deps.store.insert(consumerProgress, [next]);
    return next;
  }

  /** Starts with the first event of a project. Must run before that event. */
  begin(project: number, target: string): Promise<Progress> {
    return this.save(blank(project, target), {});
  }

  /** Moves a target to the newest event, so it processes only later events. */
  async skipHistory(project: number, target: string): Promise<Progress> {
    await this.#deps.pipeline.waitUntilWritten();
    const before = (await this.get(project, target)) ?? blank(project, target);
    const position = Math.max(before.position, await newestPosition(this.#deps.store, project));
    return this.save(before, { position, status: 0, fault: '', failures: 0, retry_ms: 0 });
  }
}

const blank = (project: number, target: string): Progress => ({
  project,
  target,
  position: 0,
  at: 0,
  status: 0,
  fault: '',
  failures: 0,
  retry_ms: 0,
  version: 0,
});
