import { parseDelivery } from '../../../aggregate/alerts/formats/delivery.ts';
import type { AlertStatus } from '../../../aggregate/alerts/model/alert.ts';
import type { ActionHead, DeliveryHead } from '../../../aggregate/alerts/model/event.ts';
import type { EventRules } from '../../../aggregate/alerts/model/rules.ts';
import { emptyState } from '../../../aggregate/alerts/reducer/project-state.ts';
import { type Reduction, reduceEvent } from '../../../aggregate/alerts/reducer/reduce.ts';

export const SECOND = 1000;
export const RULES: EventRules = {
  ...{ depth: 100, titleCharacters: 200, descriptionCharacters: 1000, markdownCharacters: 20_000 },
  ...{ retryWindowMs: 60 * SECOND, namedWindowMs: 3600 * SECOND },
};
export const START = Date.UTC(2026, 10, 21);

/** A project to which a test sends deliveries and actions at given times. */
export class TestProject {
  readonly state = emptyState(1);
  readonly alerts = new Map<
    number,
    { status: string; events: number; severity: string; ended_ms: number; title: string; y_label: string }
  >();
  now = START;

  after(seconds: number): this {
    this.now += seconds * SECOND;
    return this;
  }

  send(body: unknown, head: Partial<DeliveryHead> = {}) {
    const full: DeliveryHead = {
      kind: 'delivery',
      id: '',
      from: '',
      at: this.now,
      project: 1,
      integration: 'i1',
      endpoint: 'http',
      mapping: null,
      sender_rules: null,
      heartbeat_matchers: '',
      groups_by_payload: true,
      idempotency_key: '',
      rules: RULES,
      ...head,
    };
    const delivery = parseDelivery(full, Buffer.from(JSON.stringify(body)), RULES);
    return this.#record(reduceEvent(this.state, { head: full, delivery }));
  }

  set(iid: number, status: AlertStatus) {
    return this.#record(this.act(iid, { status }));
  }

  act(iid: number, change: ActionHead['change'], expected?: AlertStatus): Reduction {
    const head: ActionHead = {
      kind: 'action',
      id: '',
      from: '',
      at: this.now,
      project: 1,
      iid,
      by: '1',
      change,
      ...(expected !== undefined && { expected }),
    };
    return reduceEvent(this.state, { head, delivery: null });
  }

  #record({ outcomes, created, changed }: Reduction) {
    for (const alert of changed) this.alerts.set(alert.iid, alert);
    return { outcomes, created: created.map(({ iid }) => iid) };
  }
}
