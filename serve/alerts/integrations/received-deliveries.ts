import type { Outcome } from '../../../aggregate/alerts/model/alert.ts';
import { type DeliveryHead, decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import type { IntegrationSummary } from '../model/tables.ts';

/** A delivery of an integration, with the outcomes of its alerts. */
export interface ReceivedDelivery {
  /** Position of its event in the project. */
  readonly position: number;
  readonly id: string;
  readonly at: number;
  /** Number of its alerts by outcome. */
  readonly counts: readonly (readonly [Outcome, number])[];
  /** Numbers of the first alerts that it changed or created. */
  readonly iids: readonly number[];
  /** Number of alerts that the sender reports as left out, because the group exceeds its maximum. */
  readonly truncated: number;
}

/** Number of the newest events of a project that are searched for deliveries of an integration. */
const EVENTS_SEARCHED = 10_000;
const ALERTS_SHOWN = 20;

/** The deliveries of integrations. Includes deliveries that changed no alert. */
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

  /** The newest deliveries first, with the bodies as they were sent. Leaves out bodies that the store refused. */
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

  /** The newest deliveries first. */
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

  /** Reads only the bodies of these deliveries, because a body may have a megabyte. */
  async #truncatedIn(project: number, positions: readonly number[]): Promise<ReadonlyMap<number, number>> {
    if (positions.length === 0) return new Map();
    const rows = await this.#store.rows<{ position: number; truncated: number }>(
      sql`SELECT position, JSONExtractUInt(body, 'truncatedAlerts') AS truncated FROM ${alertEvents}
        PREWHERE project = ${project} AND position IN ${positions} WHERE truncated > 0`,
    );
    return new Map(rows.map(({ position, truncated }) => [position, truncated]));
  }
}
