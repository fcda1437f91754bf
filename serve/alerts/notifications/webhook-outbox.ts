import { decodeHead } from '../../../aggregate/alerts/model/event.ts';
import { alertEvents } from '../../../aggregate/alerts/model/tables.ts';
import type { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { StoredEvent } from '../../../aggregate/alerts/processor/processor.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import type { Locks } from '../../../infra/coordination/lock.ts';
import type { Clock, Queue, Store } from '../../../infra/ports.ts';
import type { ConsequenceProgress, Progress } from '../consequences/progress.ts';
import type { IntegrationCache } from '../integrations/integration-cache.ts';
import type { AlertReader } from '../projects/alert-reader.ts';
import type { OncallLinks } from './oncall-link.ts';
import {
  type NotificationTarget,
  oncallTarget,
  type WebhookSender,
  webhookTarget,
} from './webhook-sender.ts';
import type { WebhookEventName, Webhooks } from './webhooks.ts';

interface OutboxJob {
  readonly project: number;
  readonly target: string;
}

interface WebhookOutboxDependencies {
  readonly store: Store;
  readonly queue: Queue;
  readonly clock: Clock;
  readonly locks: Locks;
  readonly pipeline: AlertPipeline;
  readonly reader: AlertReader;
  readonly cache: IntegrationCache;
  readonly webhooks: Webhooks;
  readonly oncallLinks: OncallLinks;
  readonly progress: ConsequenceProgress;
  readonly sender: WebhookSender;
}

const QUEUE = 'alert-notices';
const CONCURRENCY = 4;
const EVENTS_PER_READ = 100;
/** Older events are not sent to a target that was unreachable. */
const EVENT_AGE_MS_MAX = 24 * 3_600_000;
const SWEEP_MS = 60_000;

/**
 * Sends events to targets in their order, each at least once. The position of each target is stored, so that a kill
 * or an unreachable target only delays. The queue retries failed jobs, and a periodic sweep adds jobs again that the
 * queue dropped.
 */
export class WebhookOutbox {
  readonly #deps: WebhookOutboxDependencies;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(dependencies: WebhookOutboxDependencies) {
    this.#deps = dependencies;
  }

  async start(onFailure: (error: unknown) => void): Promise<void> {
    const { queue, pipeline } = this.#deps;
    await queue.process<OutboxJob>(QUEUE, CONCURRENCY, (job) => this.#run(job));
    pipeline.onStored((events) => void this.#enqueueChanged(events).catch(onFailure));
    this.#sweeper = setInterval(() => void this.#sweep().catch(onFailure), SWEEP_MS);
    this.#sweeper.unref();
    await this.#sweep();
  }

  stop(): void {
    clearInterval(this.#sweeper);
  }

  async #enqueueChanged(events: readonly StoredEvent[]): Promise<void> {
    const projects = new Set(
      events.filter(({ changed }) => changed.length > 0).map(({ head }) => head.project),
    );
    for (const project of projects) await this.#enqueue(project);
  }

  async #enqueue(project: number): Promise<void> {
    const { queue, cache } = this.#deps;
    for (const target of await cache.targetsOf(project)) {
      const data: OutboxJob = { project, target };
      await queue.add(QUEUE, { id: `${project}-${target}`, data, priority: 0 });
    }
  }

  async #sweep(): Promise<void> {
    for (const { project } of await this.#deps.progress.list()) await this.#enqueue(project);
  }

  async #targetsOf(project: number): Promise<NotificationTarget[]> {
    const [webhooks, links] = await Promise.all([
      this.#deps.webhooks.list(String(project)),
      this.#deps.oncallLinks.activeOf(String(project)),
    ]);
    return [...webhooks.filter(({ is_active }) => is_active).map(webhookTarget), ...links.map(oncallTarget)];
  }

  async #run({ project, target: id }: OutboxJob): Promise<void> {
    await this.#deps.locks.run(`notice/${project}/${id}`, async () => {
      const target = (await this.#targetsOf(project)).find((one) => one.id === id);
      if (target) await this.#sendAll(project, target);
    });
  }

  async #sendAll(project: number, target: NotificationTarget): Promise<void> {
    const { store, clock, progress } = this.#deps;
    const since = clock.now() - EVENT_AGE_MS_MAX;
    let before = await this.#progressOf(project, target);
    for (let position = before.position; ; ) {
      const rows = await store.rows<EventRow>(
        sql`SELECT position, head, outcomes, iids FROM ${alertEvents} FINAL
          WHERE project = ${project} AND position > ${position} AND at >= ${since}
            AND hasAny(outcomes, ['created', 'resolved', 'changed'])
          ORDER BY position LIMIT ${EVENTS_PER_READ}`,
      );
      for (const row of rows) {
        for (const change of changesIn(row).filter(({ event }) => target.events.includes(event))) {
          await this.#send(project, target, row.position, change);
        }
        position = row.position;
        before = await progress.save(before, { position, status: 200, fault: '' });
      }
      if (rows.length < EVENTS_PER_READ) return;
    }
  }

  async #send(
    project: number,
    target: NotificationTarget,
    position: number,
    { event, iid }: AlertChangeEvent,
  ): Promise<void> {
    const { reader, sender, progress } = this.#deps;
    const alert = await reader.find(project, iid);
    if (alert === null) return;
    const delivery = `${project}-${position}-${iid}`;
    const { status, fault } = await sender.send(target, { event, alert, delivery });
    if (fault === '') return;
    await progress.save(await this.#progressOf(project, target), { status, fault });
    throw new Error(`${target.id}: ${fault}`);
  }

  async #progressOf(project: number, { id }: NotificationTarget): Promise<Progress> {
    const { progress } = this.#deps;
    return (await progress.get(project, id)) ?? (await progress.skipHistory(project, id));
  }
}

interface EventRow {
  readonly position: number;
  readonly head: string;
  readonly outcomes: readonly string[];
  readonly iids: readonly number[];
}

interface AlertChangeEvent {
  readonly event: WebhookEventName;
  readonly iid: number;
}

function changesIn({ head, outcomes, iids }: EventRow): AlertChangeEvent[] {
  const event = decodeHead(head);
  return outcomes.flatMap((outcome, i): AlertChangeEvent[] => {
    const iid = iids[i] ?? 0;
    if (outcome === 'created' || outcome === 'resolved') return [{ event: outcome, iid }];
    const isAcknowledged = event.kind === 'action' && event.change.status === 'acknowledged';
    return outcome === 'changed' && isAcknowledged ? [{ event: 'acknowledged', iid }] : [];
  });
}
