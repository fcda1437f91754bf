import type { Outcome } from '../../../aggregate/alerts/model/alert.ts';
import { type DeliveryHead, decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { IntegrationSummary } from '../model/tables.ts';

/** A delivery of an integration and what became of its alerts. */
export interface ReceivedDelivery {
  /** Of its event in the project. */
  readonly position: number;
  readonly id: string;
  readonly at: number;
  /** How many of its alerts had each outcome. */
  readonly counts: readonly (readonly [Outcome, number])[];
  /** The first alerts that it changed or created. */
  readonly iids: readonly number[];
  /** How many alerts of its group the sender left out, as it says: Alertmanager and Grafana beyond their maximum. */
  readonly truncated: number;
}

/** The newest events of a project, among which the deliveries of an integration are looked up. */
const EVENTS_SEARCHED = 10_000;
const ALERTS_SHOWN = 20;

/** The deliveries of integrations, also those that changed no alert, such as the end of one that is not open. */
export class ReceivedDeliveries {
  readonly #store: Pick<Store, 'rows'>;
  readonly #pipeline: AlertPipeline;

  constructor({ store, pipeline }: { store: Pick<Store, 'rows'>; pipeline: AlertPipeline }) {
    this.#store = store;
    this.#pipeline = pipeline;
  }

  /** Runs the queries within the limits of a caller. */
  withStore(store: Pick<Store, 'rows'>): ReceivedDeliveries {
    return new ReceivedDeliveries({ store, pipeline: this.#pipeline });
  }

  /** The newest first, with the bodies as they were sent. Those that the store refused are left out. */
  async bodies(
    { id, project_id }: Pick<IntegrationSummary, 'id' | 'project_id'>,
    limit: number,
  ): Promise<{ readonly head: DeliveryHead; readonly body: Buffer }[]> {
    const found = await this.latest({ id, project_id }, limit);
    const rows = await this.#store.rows<{ head: string; body: string }>(
      sql`SELECT head, body FROM ${alertEvents} FINAL
        PREWHERE project = ${Number(project_id)} AND position IN ${found.map(({ position }) => position)}
        WHERE body != '' ORDER BY position DESC`,
    );
    return rows.map(({ head, body }) => ({
      head: decodeHead<DeliveryHead>(head),
      body: Buffer.from(body),
    }));
  }

  /** The newest first. */
  async latest(
    { id, project_id }: Pick<IntegrationSummary, 'id' | 'project_id'>,
    limit: number,
  ): Promise<ReceivedDelivery[]> {
    await this.#pipeline.waitUntilWritten();
    const project = Number(project_id);
    const found = await this.#store.rows<Omit<ReceivedDelivery, 'truncated'>>(
      sql`SELECT position, id, at, arrayMap(one -> (one, countEqual(outcomes, one)), arrayDistinct(outcomes)) AS counts,
          arraySlice(arrayDistinct(arrayFilter(iid -> iid > 0, iids)), 1, ${ALERTS_SHOWN}) AS iids
        FROM (SELECT position, id, at, outcomes, iids FROM ${alertEvents} FINAL
          PREWHERE project = ${project}
            AND position > (SELECT max(position) FROM ${alertEvents} WHERE project = ${project}) - ${EVENTS_SEARCHED}
          WHERE kind = 'delivery' AND JSONExtractString(head, 'integration') = ${id}
          ORDER BY position DESC LIMIT ${limit})
        ORDER BY position DESC`,
    );
    const truncated = await this.#truncatedIn(
      project,
      found.map(({ position }) => position),
    );
    return found.map((delivery) => ({
      ...delivery,
      truncated: truncated.get(delivery.position) ?? 0,
    }));
  }

  /** Bodies may have a megabyte, so they are read only of these deliveries. */
  async #truncatedIn(project: number, positions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (positions.length === 0) return new Map();
    const rows = await this.#store.rows<{ position: number; truncated: number }>(
      sql`SELECT position, JSONExtractUInt(body, 'truncatedAlerts') AS truncated FROM ${alertEvents}
        PREWHERE project = ${project} AND position IN ${positions} WHERE truncated > 0`,
    );
    return new Map(rows.map(({ position, truncated }) => [position, truncated]));
  }
}
