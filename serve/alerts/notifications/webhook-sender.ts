import { SpanKind } from '@opentelemetry/api';
import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import type { Clock, Store, Traceparent } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { activeTraceparent, failSpan, inSpan } from '../../../infra/tracing/spans.ts';
import { newLocator, type Seal } from '../../accounts/secrets.ts';
import type { ConsumerMetrics } from '../events/consumer-metrics.ts';
import { networkFault } from '../http-client/network-fault.ts';
import { POST_MS_MAX, post, TargetConnections } from '../http-client/post.ts';
import { secretContext, signatureOf } from '../http-client/signature.ts';
import type { OncallLink } from '../integrations/oncall-link.ts';
import { type Webhook, webhookDeliveries } from '../model/tables.ts';
import { alertJson } from '../projects/shapes.ts';
import type { UserLookup } from '../projects/users.ts';
import type { Suppressor } from '../suppression/suppressor.ts';
import { WEBHOOK_EVENTS, type WebhookEventName } from './webhooks.ts';

/** A URL that receives events: an outgoing webhook or an on-call tool. */
export interface NotificationTarget {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  /** Each secret signs the requests. Empty for an on-call link whose key was created before requests were signed. */
  readonly encryptedSecrets: readonly string[];
}

export const webhookTarget = ({ id, url, events, secret }: Webhook): NotificationTarget => ({
  id,
  url,
  events,
  encryptedSecrets: [secret],
});

export const oncallTarget = ({ id, url, encryptedKeys }: OncallLink): NotificationTarget => ({
  id,
  url,
  events: WEBHOOK_EVENTS,
  encryptedSecrets: encryptedKeys,
});

interface WebhookEvent {
  readonly event: WebhookEventName | 'test';
  readonly alert: Alert;
  /** The same for every attempt to send this event. */
  readonly delivery: string;
  /** Trace contexts of the requests that caused the event. */
  readonly causes?: readonly (Traceparent | undefined)[];
}

export interface AttemptResult {
  /** Status of the response; 0 if there was none. */
  readonly status: number;
  /** '' if the target accepted the request. */
  readonly fault: string;
  readonly milliseconds: number;
}

/** An attempt to send an event, as it is stored. */
export interface DeliveryAttempt extends AttemptResult {
  readonly at: number;
  readonly event: WebhookEvent['event'];
  readonly iid: number;
  readonly delivery: string;
  /** True if the event will not be sent again. */
  readonly given_up: boolean;
}

const FAULT_CHARACTERS_MAX = 300;

interface WebhookSenderDependencies {
  readonly store: Store;
  readonly clock: Clock;
  readonly seal: Seal;
  readonly users: UserLookup;
  readonly suppressor: Suppressor;
  /** Allows private addresses in URLs of targets. */
  readonly allowsPrivate: boolean;
  readonly publicUrl: () => string;
  readonly metrics: ConsumerMetrics;
}

/** Users by id. */
type KnownUsers = Awaited<ReturnType<UserLookup['byId']>>;

/** The connections and data for sending events to a target. Close it after use. */
export interface OpenTarget {
  readonly target: NotificationTarget;
  readonly connections: TargetConnections;
  readonly users: KnownUsers;
  /** Ids of the silences and maintenance windows that suppress each alert. */
  readonly silencedBy: ReadonlyMap<number, readonly string[]>;
}

export interface SendResult extends AttemptResult {
  readonly at: number;
  /** Delay that the receiver asks for. */
  readonly retryAfterMs: number;
}

/** Posts events to targets and records every attempt. */
export class WebhookSender {
  readonly #deps: WebhookSenderDependencies;

  constructor(dependencies: WebhookSenderDependencies) {
    this.#deps = dependencies;
  }

  /** Opens a target for events of some alerts of a project. */
  async open(project: number, target: NotificationTarget, alerts: readonly Alert[]): Promise<OpenTarget> {
    const [users, silencedBy] = await Promise.all([
      this.#deps.users.byId(alerts.flatMap(({ assignees }) => assignees)),
      this.#deps.suppressor.suppressedBy(String(project), alerts),
    ]);
    const connections = new TargetConnections(target.url, { allowsPrivate: this.#deps.allowsPrivate });
    return { target, connections, users, silencedBy };
  }

  /** Makes one attempt. Failures of the target are part of the result and never thrown. */
  send(open: OpenTarget, notice: WebhookEvent): Promise<SendResult> {
    const { event, causes } = notice;
    const attributes = {
      'http.request.method': 'POST',
      'chain_metrics.webhook': open.target.id,
      'chain_metrics.event': event,
    };
    const options = { kind: SpanKind.CLIENT, attributes, ...(causes ? { causes } : {}) };
    return inSpan('POST webhook', options, async (span) => {
      const result = await this.#attempt(open, notice);
      if (result.status > 0) span.setAttribute('http.response.status_code', result.status);
      if (result.fault !== '') failSpan(span, result.status > 0 ? String(result.status) : 'no answer');
      return result;
    });
  }

  async #attempt(open: OpenTarget, notice: WebhookEvent): Promise<SendResult> {
    const { target, connections, users, silencedBy } = open;
    const { event, alert, delivery } = notice;
    const at = this.#deps.clock.now();
    const started = performance.now();
    let status = 0;
    let fault = '';
    let retryAfterMs = 0;
    const traceparent = activeTraceparent();
    try {
      const object_attributes = alertJson(alert, users, this.#deps.publicUrl(), silencedBy.get(alert.iid));
      const body = JSON.stringify({ object_kind: 'alert', event, object_attributes });
      const headers = {
        'x-chain-metrics-event': event,
        'x-chain-metrics-delivery': delivery,
        ...(traceparent === undefined ? {} : { traceparent }),
        ...this.#signature(target, at, body),
      };
      ({ status, retryAfterMs } = await post(connections, { headers, body }));
      if (status < 200 || status > 299) fault = `answered with ${status}`;
    } catch (error) {
      fault = networkFault(error, POST_MS_MAX).slice(0, FAULT_CHARACTERS_MAX);
    }
    const ms = performance.now() - started;
    this.#deps.metrics.attemptSeconds.observe({ result: fault === '' ? 'accepted' : 'failed' }, ms / 1000);
    return { at, status, fault, milliseconds: Math.round(ms), retryAfterMs };
  }

  /** Stores attempts, in one statement. */
  async record(target: string, attempts: readonly DeliveryAttempt[]): Promise<void> {
    if (attempts.length === 0) return;
    await this.#deps.store.insert(
      webhookDeliveries,
      attempts.map((attempt) => ({ target, ...attempt })),
    );
  }

  /** Sends an example alert, also to an inactive webhook. */
  async sendTest(webhook: Webhook): Promise<AttemptResult> {
    const alert = exampleAlert(Number(webhook.project_id), this.#deps.clock.now());
    const event = { event: 'test' as const, alert, delivery: `test-${newLocator()}` };
    const open = await this.open(alert.project, webhookTarget(webhook), []);
    const { at, ...result } = await this.send(open, event).finally(() => open.connections.close());
    const { status, fault, milliseconds } = result;
    const attempt = { at, event: event.event, iid: 0, delivery: event.delivery, status, fault, milliseconds };
    await this.record(webhook.id, [{ ...attempt, given_up: false }]);
    return { status, fault, milliseconds };
  }

  /** The attempts of the last week, newest first. */
  attempts(target: string, limit: number): Promise<DeliveryAttempt[]> {
    return this.#deps.store.rows<DeliveryAttempt>(
      sql`SELECT at, event, iid, delivery, status, milliseconds, fault, given_up FROM ${webhookDeliveries}
        WHERE target = ${target} ORDER BY at DESC LIMIT ${limit}`,
    );
  }

  #signature({ id, encryptedSecrets }: NotificationTarget, at: number, body: string): Record<string, string> {
    if (encryptedSecrets.length === 0) return {};
    const secrets = encryptedSecrets.map((secret) => this.#deps.seal.decrypt(secret, secretContext(id)));
    return { 'x-chain-metrics-signature': signatureOf(secrets, Math.floor(at / 1000), body) };
  }
}

const exampleAlert = (project: number, now: number): Alert => ({
  project,
  iid: 0,
  fingerprint: '',
  integration: '',
  title: 'Test of this webhook',
  description: 'This is an example. No alert was created.',
  severity: 'info',
  status: 'triggered',
  service: 'example service',
  tool: 'Chain Metrics',
  hosts: ['example-host'],
  environment: '',
  query: '',
  runbook: '',
  y_label: '',
  incident_markdown: '',
  labels: [],
  match_labels: {},
  has_cut_labels: false,
  started_ms: now,
  source_started_ms: now,
  ended_ms: 0,
  events: 1,
  created_ms: now,
  seen_ms: now,
  updated_ms: now,
  acknowledged_ms: 0,
  assignees: [],
  incident: 0,
  created_position: 0,
  created_item: 0,
  position: 0,
});
