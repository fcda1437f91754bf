import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { parseExact } from '../../../ingest/decode/json.ts';
import { isObject, ownProperty } from '../formats/values.ts';
import { type DeliveryRequest, decodeHead } from '../model/event.ts';
import { alertEvents } from '../model/tables.ts';
import { deliveryIn } from './event-insert.ts';

/** The refused items of a delivery as a new request, or the reason why they cannot be retried. */
export async function refusedPart(
  store: Store,
  origin: string,
): Promise<{ readonly request: DeliveryRequest; readonly body: Buffer } | string> {
  const original = deliveryIn(origin);
  if (original === null) return 'its origin is not a delivery';
  // `FINAL`, because a replay writes its events again with other outcomes.
  const [row] = await store.rows<{ head: string; body: string; outcomes: string[] }>(
    sql`SELECT head, body, outcomes FROM ${alertEvents} FINAL WHERE project = ${original.project} AND id = ${original.id} LIMIT 1`,
  );
  const head = row && decodeHead(row.head);
  if (row === undefined || head?.kind !== 'delivery') return 'its delivery is not stored';
  if (head.items) return 'its alerts are stored; the store refuses its body';
  const { project, integration, endpoint, mapping, groups_by_payload } = head;
  const { sender_rules, heartbeat_matchers, redelivers = original.id } = head;
  // The key makes repeated retries count once.
  const idempotency_key = `dead letter of ${redelivers}`;
  return {
    request: {
      ...{ project, integration, endpoint, mapping, groups_by_payload, sender_rules, heartbeat_matchers },
      idempotency_key,
      redelivers,
    },
    body: Buffer.from(withRefusedOnly(row.body, row.outcomes)),
  };
}

/** Removes the accepted items, because they must not count again. */
function withRefusedOnly(body: string, outcomes: readonly string[]): string {
  if (outcomes.every((outcome) => outcome === 'refused')) return body;
  const payload = parseExact(body);
  const isRefused = (_: unknown, item: number) => outcomes[item] === 'refused';
  // A batch of CloudEvents is a list.
  if (Array.isArray(payload)) return JSON.stringify(payload.filter(isRefused));
  const items = ownProperty(payload, 'alerts');
  if (!isObject(payload) || !Array.isArray(items)) return body;
  return JSON.stringify({ ...payload, alerts: items.filter(isRefused) });
}
