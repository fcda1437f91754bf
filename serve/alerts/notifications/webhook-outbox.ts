import { decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { StoredEvent } from '../../../aggregate/alerts/processor/processor.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { integrationsOf } from '../integrations/integrations.ts';
import { findAlert } from '../projects/reading.ts';
import { notices } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { sendWebhook, type Target, targetOf } from './webhook-sender.ts';
import { type HookEvent, hooksOf } from './webhooks.ts';

interface Errand {
  readonly project: number;
  readonly target: string;
}

export interface OutboxProgress {
  readonly target: string;
  readonly position: number;
  readonly at: number;
  /** Of the newest answer; 0 when there was none. */
  readonly status: number;
  readonly fault: string;
}

const QUEUE = 'alert-notices';
const CONCURRENCY = 4;
const EVENTS_PER_READ = 100;
/** Older events are of no use to anybody who was away for so long. */
const OLDEST_MS = 24 * 3_600_000;
const SWEEP_MS = 60_000;

/**
 * Tells targets of events in their order, each at least once. How far each was told is in the store, so that a kill
 * or a target that is away only delays; the queue repeats what failed, and a sweep what the queue gave up.
 */
export class WebhookOutbox {
  readonly #desk: AlertServices;
  readonly #url: () => string;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(services: AlertServices, url: () => string) {
    this.#desk = services;
    this.#url = url;
  }

  async start(onFailure: (error: unknown) => void): Promise<void> {
    const { queue } = this.#desk.engine.runtime;
    await queue.process<Errand>(QUEUE, CONCURRENCY, (errand) => this.#run(errand));
    this.#desk.alerts.onStored((shown) => void this.#wake(shown).catch(onFailure));
    this.#sweeper = setInterval(() => void this.#sweep().catch(onFailure), SWEEP_MS);
    this.#sweeper.unref();
    await this.#sweep();
  }

  stop(): void {
    clearInterval(this.#sweeper);
  }

  async #wake(shown: readonly StoredEvent[]): Promise<void> {
    const projects = new Set(
      shown.filter(({ changed }) => changed.length > 0).map(({ head }) => head.project),
    );
    for (const project of projects) await this.#order(project);
  }

  async #order(project: number): Promise<void> {
    for (const target of await this.#desk.integrationCache.targetsOf(project)) {
      const errand: Errand = { project, target };
      await this.#desk.engine.runtime.queue.add(QUEUE, {
        id: `${project}-${target}`,
        data: errand,
        priority: 0,
      });
    }
  }

  async #sweep(): Promise<void> {
    const rows = await this.#desk.engine.runtime.store.rows<{ project: number }>(
      sql`SELECT DISTINCT project FROM ${notices}`,
    );
    for (const { project } of rows) await this.#order(project);
  }

  async #targetsOf(project: number): Promise<Target[]> {
    const [hooks, integrations] = await Promise.all([
      hooksOf(this.#desk, String(project)),
      integrationsOf(this.#desk, String(project)),
    ]);
    const links = integrations.filter(({ type, is_active }) => type === 'oncall' && is_active);
    return [
      ...hooks.filter(({ is_active }) => is_active).map(targetOf),
      ...links.map(({ id, api_url }) => ({
        id,
        url: api_url,
        events: ['created', 'acknowledged', 'resolved'],
        sealed: '',
      })),
    ];
  }

  async #run({ project, target: id }: Errand): Promise<void> {
    await this.#desk.accounts.locks.run(`notice/${project}/${id}`, async () => {
      const target = (await this.#targetsOf(project)).find((one) => one.id === id);
      if (target) await this.#tellAll(project, target);
    });
  }

  async #tellAll(project: number, target: Target): Promise<void> {
    const { store } = this.#desk.engine.runtime;
    const since = this.#desk.accounts.clock.now() - OLDEST_MS;
    for (let { position } = await this.#progress(project, target.id); ; ) {
      const rows = await store.rows<EventRow>(
        sql`SELECT position, head, outcomes, iids FROM ${alertEvents} FINAL
          WHERE project = ${project} AND position > ${position} AND at >= ${since}
            AND hasAny(outcomes, ['created', 'resolved', 'changed'])
          ORDER BY position LIMIT ${EVENTS_PER_READ}`,
      );
      for (const row of rows) {
        for (const told of eventsOf(row).filter(({ event }) => target.events.includes(event))) {
          await this.#tell(project, target, row.position, told.event, told.iid);
        }
        position = row.position;
        await this.#note(project, target.id, position, 200, '');
      }
      if (rows.length < EVENTS_PER_READ) return;
    }
  }

  async #tell(
    project: number,
    target: Target,
    position: number,
    event: HookEvent,
    iid: number,
  ): Promise<void> {
    const alert = await findAlert(this.#desk, project, iid);
    if (alert === null) return;
    const delivery = `${project}-${position}-${iid}`;
    const { status, fault } = await sendWebhook(this.#desk, this.#url(), target, { event, alert, delivery });
    if (fault === '') return;
    const { position: before } = await this.#progress(project, target.id);
    await this.#note(project, target.id, before, status, fault);
    throw new Error(`${target.id}: ${fault}`);
  }

  async #progress(project: number, target: string): Promise<OutboxProgress> {
    const [row] = await outboxProgressOf(this.#desk, project, target);
    return row ?? { target, position: 0, at: 0, status: 0, fault: '' };
  }

  async #note(
    project: number,
    target: string,
    position: number,
    status: number,
    fault: string,
  ): Promise<void> {
    const now = this.#desk.accounts.clock.now();
    await this.#desk.engine.runtime.store.insert(notices, [
      { project, target, position, at: now, status, fault, version: now },
    ]);
  }
}

/** How far the targets of a project were told, or one of them. */
export function outboxProgressOf(
  services: AlertServices,
  project: number,
  target?: string,
): Promise<OutboxProgress[]> {
  return services.engine.runtime.store.rows<OutboxProgress>(
    sql`SELECT target, position, at, status, fault FROM ${notices} FINAL
      WHERE project = ${project} AND ${target === undefined ? sql`1` : sql`target = ${target}`}`,
  );
}

interface EventRow {
  readonly position: number;
  readonly head: string;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

function eventsOf({ head, outcomes, iids }: EventRow): { event: HookEvent; iid: number }[] {
  const event = decodeHead(head);
  return outcomes.flatMap((outcome, i): { event: HookEvent; iid: number }[] => {
    const iid = iids[i] ?? 0;
    if (outcome === 'created' || outcome === 'resolved') return [{ event: outcome, iid }];
    const isAcknowledged = event.kind === 'action' && event.change.status === 'acknowledged';
    return outcome === 'changed' && isAcknowledged ? [{ event: 'acknowledged', iid }] : [];
  });
}
