import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Clock, Store } from '../../../infra/ports.ts';
import { webhookProgress } from '../projects/tables.ts';

/** The last event that a target received, and the result of the newest request. */
export interface TargetProgress {
  readonly target: string;
  readonly position: number;
  readonly at: number;
  /** 0 when there was no response. */
  readonly status: number;
  readonly fault: string;
}

/** The position of each target in the events of its project. */
export class WebhookProgress {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #pipeline: AlertPipeline;

  constructor({ store, clock, pipeline }: { store: Store; clock: Clock; pipeline: AlertPipeline }) {
    this.#store = store;
    this.#clock = clock;
    this.#pipeline = pipeline;
  }

  /** Of all targets of a project. */
  list(project: number): Promise<TargetProgress[]> {
    return this.#store.rows<TargetProgress>(
      sql`SELECT target, position, at, status, fault FROM ${webhookProgress} FINAL WHERE project = ${project}`,
    );
  }

  async get(project: number, target: string): Promise<TargetProgress | undefined> {
    const [row] = await this.#store.rows<TargetProgress>(
      sql`SELECT target, position, at, status, fault FROM ${webhookProgress} FINAL
        WHERE project = ${project} AND target = ${target}`,
    );
    return row;
  }

  async save(
    project: number,
    target: string,
    progress: Pick<TargetProgress, 'position' | 'status' | 'fault'>,
  ): Promise<void> {
    const now = this.#clock.now();
    await this.#store.insert(webhookProgress, [{ project, target, ...progress, at: now, version: now }]);
  }

  /** Moves a target behind the newest event, so that it receives only later ones. */
  async skipHistory(project: number, target: string): Promise<void> {
    await this.#pipeline.waitUntilWritten();
    const [row] = await this.#store.rows<{ position: number }>(
      sql`SELECT max(position) AS position FROM ${alertEvents} WHERE project = ${project}`,
    );
    await this.save(project, target, { position: row?.position ?? 0, status: 0, fault: '' });
  }

  /** Projects that have or had a target. */
  async projects(): Promise<number[]> {
    const rows = await this.#store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${webhookProgress}`,
    );
    return rows.map(({ project }) => project);
  }
}
