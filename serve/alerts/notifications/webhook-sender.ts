import type { Alert } from '../../../aggregate/alerts/model/alert.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { reasonOf } from '../../../infra/errors.ts';
import { newLocator } from '../../identity/accounts/secrets.ts';
import { alertJson } from '../api/shapes.ts';
import { usersById } from '../projects/projects.ts';
import { deliveries, type Hook, type Project } from '../projects/tables.ts';
import type { AlertServices } from '../services.ts';
import { post } from './post.ts';
import { type HookEvent, hookOf, signatureOf } from './webhooks.ts';

/** Who is told: an outgoing webhook, or the on-call tool of an active link. */
export interface Target {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  /** '' for the on-call tool, which gets no signature. */
  readonly sealed: string;
}

export const targetOf = ({ id, url, events, secret }: Hook): Target => ({ id, url, events, sealed: secret });

export interface WebhookEvent {
  readonly event: HookEvent | 'test';
  readonly alert: Alert;
  /** Equal for attempts to tell the same. */
  readonly delivery: string;
}

/** How one attempt went. */
export interface AttemptResult {
  /** Of the answer; 0 when there was none. */
  readonly status: number;
  /** '' when the target has taken it. */
  readonly fault: string;
  readonly milliseconds: number;
}

export interface DeliveryAttempt extends AttemptResult {
  readonly at: number;
  readonly event: WebhookEvent['event'];
  readonly iid: number;
  readonly delivery: string;
}

const FAULT_CHARACTERS_MAX = 300;

/** Posts to a target once and keeps how it went. Never throws for what the target does. */
export async function sendWebhook(
  services: AlertServices,
  url: string,
  target: Target,
  message: WebhookEvent,
): Promise<AttemptResult> {
  const { event, alert, delivery } = message;
  const at = services.accounts.clock.now();
  const users = await usersById(services, alert.assignees);
  const body = JSON.stringify({
    object_kind: 'alert',
    event,
    object_attributes: alertJson(alert, users, url),
  });
  const secret =
    target.sealed === '' ? null : services.accounts.seal.decrypt(target.sealed, `hook/${target.id}`);
  const headers = {
    'x-chain-metrics-event': event,
    'x-chain-metrics-delivery': delivery,
    ...(secret === null
      ? {}
      : { 'x-chain-metrics-signature': signatureOf(secret, Math.floor(at / 1000), body) }),
  };
  const allowsPrivate = services.engine.config.ALERT_PRIVATE_TARGETS;
  const started = performance.now();
  let status = 0;
  let fault = '';
  try {
    status = await post({ url: target.url, headers, body, allowsPrivate });
    if (status < 200 || status > 299) fault = `answered with ${status}`;
  } catch (error) {
    fault = reasonOf(error).slice(0, FAULT_CHARACTERS_MAX);
  }
  const told = { status, fault, milliseconds: Math.round(performance.now() - started) };
  await services.engine.runtime.store.insert(deliveries, [
    { target: target.id, at, event, iid: alert.iid, delivery, ...told },
  ]);
  return told;
}

/** Newest attempts first; also those that are repeated because they failed. */
export function deliveriesOf(
  services: AlertServices,
  target: string,
  most: number,
): Promise<DeliveryAttempt[]> {
  return services.engine.runtime.store.rows<DeliveryAttempt>(
    sql`SELECT at, event, iid, delivery, status, milliseconds, fault FROM ${deliveries}
      WHERE target = ${target} ORDER BY at DESC LIMIT ${most}`,
  );
}

/** Tells a hook of an alert that does not exist, also while it is switched off. */
export async function sendTestWebhook(
  services: AlertServices,
  url: string,
  project: Project,
  hookId: string,
): Promise<AttemptResult> {
  const hook = await hookOf(services, project, hookId);
  const alert = exampleAlert(Number(project.id), services.accounts.clock.now());
  return sendWebhook(services, url, targetOf(hook), {
    event: 'test',
    alert,
    delivery: `test-${newLocator()}`,
  });
}

const exampleAlert = (project: number, now: number): Alert => ({
  project,
  iid: 0,
  fingerprint: '',
  integration: '',
  title: 'Test of this webhook',
  description: 'No alert was made. This is what one looks like.',
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
  started_ms: now,
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
