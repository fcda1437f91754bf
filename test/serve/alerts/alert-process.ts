import { AlertPipeline } from '../../../aggregate/alerts/pipeline.ts';
import type { EventResult } from '../../../aggregate/alerts/processor/result-channel.ts';
import type { LogRecord, Runtime, Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { gate } from '../../infra/ports/opened.ts';
import { testConfig } from '../../support/test-config.ts';
import type { ManualLog, SharedLog } from './shared-log.ts';

/** The alert pipeline of one of several processes on one log and one store; it can be paused before its writes. */
export class AlertProcess {
  readonly #log: ManualLog;
  #writes = gate();
  #isPaused = true;
  alerts!: AlertPipeline;
  /** Set while the process works on a batch. */
  busy: Promise<void> | undefined;
  /** By partition, the offset after the last delivered record. */
  readonly next = [0, 0];

  private constructor(log: SharedLog) {
    this.#log = log.connect();
    this.resume();
  }

  static async start(
    runtime: Runtime,
    log: SharedLog,
    settings: Record<string, string> = {},
  ): Promise<AlertProcess> {
    const process = new AlertProcess(log);
    const store = new Proxy(runtime.store, {
      get: (target, name: keyof Store) => {
        const method = target[name].bind(target) as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          if (name.startsWith('insert')) await process.#writes.opened;
          return method(...args);
        };
      },
    });
    process.alerts = await AlertPipeline.start(
      { ...runtime, store, log: process.#log },
      testConfig({ DATA_DIR: 'unused', ...settings }),
      { onFailure: () => undefined },
    );
    return process;
  }

  /** Writes that wait already continue at the same resumption. */
  pause(): void {
    if (!this.#isPaused) this.#writes = gate();
    this.#isPaused = true;
  }

  resume(): void {
    this.#writes.open();
    this.#isPaused = false;
  }

  /** Resolves when the records are processed; `onDurable` is called when they are durable. */
  process(batch: readonly LogRecord[], onDurable: () => void = () => {}): Promise<void> {
    for (const { partition, offset } of batch) this.next[partition] = offset + 1;
    this.busy = this.#log.deliver(batch).then(({ durable }) => {
      this.busy = undefined;
      durable.then(onDurable);
    });
    return this.busy;
  }

  /** Sends a payload to this process. */
  deliver(project: number, payload: object, more: object = {}): Promise<EventResult> {
    const body = Buffer.from(JSON.stringify(payload));
    const request = {
      project,
      integration: 'i1',
      endpoint: 'http' as const,
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
      groups_by_payload: true,
      idempotency_key: '',
      ...more,
    };
    return this.alerts.deliver(request, body, this.alerts.parse(request, body));
  }
}

export const storedAlerts = (store: Store, project: number) =>
  store.rows<{ iid: number; title: string; status: string; events: number }>(
    sql`SELECT iid, title, status, events FROM chain_metrics.alerts FINAL WHERE project = ${project} ORDER BY iid`,
  );

export const storedEvents = (store: Store, project: number) =>
  store.rows<{ id: string; outcomes: string[] }>(
    sql`SELECT id, outcomes FROM chain_metrics.alert_events FINAL WHERE project = ${project} ORDER BY position`,
  );

const UNTIL_MS_MAX = 60_000;

/** What never comes must not look like a hang. */
export const until = async (holds: () => boolean) => {
  for (const since = performance.now(); !holds(); ) {
    if (performance.now() - since > UNTIL_MS_MAX) throw new Error(`${holds} does not hold`);
    await new Promise((later) => setTimeout(later, 5));
  }
};
