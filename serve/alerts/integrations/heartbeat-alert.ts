import type { DeliveryRequest } from '../../../aggregate/alerts/model/event.ts';
import type { IntegrationSummary } from '../model/tables.ts';
import { deliveryOf } from './delivery.ts';
import { EVERY_REQUEST, HEARTBEAT_TOOL, type HeartbeatRow, POSTED } from './heartbeat-store.ts';
import { missingSince } from './heartbeat-watch.ts';
import { httpIntegration } from './http.ts';

type Named = Pick<IntegrationSummary, 'name' | 'heartbeat_minutes'>;
/** Stands for the integration in a delivery that only looks up an alert. */
const UNNAMED: Named = { name: '', heartbeat_minutes: 0 };

interface AlertDelivery {
  readonly head: DeliveryRequest;
  readonly body: Buffer;
}

/** The delivery that creates the alert about a missing beat. */
export function missingBeatDelivery(row: HeartbeatRow, integration: Named): AlertDelivery {
  const since = missingSince(row);
  return deliveryWith(row, `heartbeat ${since} silent`, {
    title: [`${integration.name} is silent`, shownLabels(row).join(', ')].filter(Boolean).join(': '),
    description: descriptionOf(row, integration),
    severity: 'critical',
    labels: Object.fromEntries(shownLabels(row).map(pairOf)),
    start_time: new Date(since).toISOString(),
  });
}

/** The delivery that resolves the alert that began at a time. */
export const recoveryDelivery = (row: HeartbeatRow, since: number, endMs: number): AlertDelivery =>
  deliveryWith(row, `heartbeat ${since} over`, {
    start_time: new Date(since).toISOString(),
    end_time: new Date(endMs).toISOString(),
  });

/** A delivery that is parsed for the fingerprint of the alert, and never delivered. */
export const lookupDelivery = (row: HeartbeatRow): AlertDelivery => missingBeatDelivery(row, UNNAMED);

/** All servers use the same idempotency key, so a duplicate delivery counts once. */
function deliveryWith({ project, integration, beat }: HeartbeatRow, idempotency_key: string, fields: object) {
  // No matchers, because an alert about a missing beat must not count as a beat.
  const source = {
    id: integration,
    project_id: String(project),
    heartbeat_minutes: 0,
    heartbeat_matchers: '',
  };
  const fingerprint = ['heartbeat', integration, beat].filter(Boolean).join(' ');
  const payload = { monitoring_tool: HEARTBEAT_TOOL, fingerprint, ...fields };
  return {
    head: deliveryOf(source, httpIntegration.endpoint, { idempotency_key }),
    body: Buffer.from(JSON.stringify(payload)),
  };
}

function descriptionOf({ beat, labels, heard_ms }: HeartbeatRow, { heartbeat_minutes }: Named): string {
  const kinds: Readonly<Record<string, string>> = {
    [EVERY_REQUEST]: 'No request from this source',
    [POSTED]: 'No beat from this source',
  };
  const kind = kinds[beat] ?? `No beat of ${labels.join(', ')}`;
  const last =
    heard_ms === 0 ? 'None has arrived yet.' : `The last one was at ${new Date(heard_ms).toISOString()}.`;
  return `${kind} for ${heartbeat_minutes} minutes. ${last}`;
}

/** Leaves out `alertname`: a route that drops Watchdogs must not drop the alert about a missing Watchdog. */
const shownLabels = ({ labels }: HeartbeatRow): readonly string[] =>
  labels.filter((label) => !label.startsWith('alertname='));

function pairOf(label: string): [string, string] {
  const at = label.indexOf('=');
  return [label.slice(0, at), label.slice(at + 1)];
}
