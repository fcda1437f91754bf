import { isAscii, isUtf8 } from 'node:buffer';
import { parseExact } from '../../../ingest/decode/json.ts';
import type { AlertItem } from '../model/alert.ts';
import type { DeliveryRequest, EventHead } from '../model/event.ts';
import { namedRetryKey } from '../model/retry-key.ts';
import type { ParsingRules } from '../model/rules.ts';
import { CLOUD_EVENTS_MAX, readCloudEvent } from './cloud-events.ts';
import { readGeneric } from './generic.ts';
import { markHeartbeats } from './heartbeat.ts';
import { readPagerduty } from './pagerduty.ts';
import { missingAttributes, readPrometheus } from './prometheus.ts';
import { isObject, type JsonObject, ownProperty, sha256, shapeOf } from './values.ts';

/** No alert can be parsed from a body. Status 400: the body is not JSON. Status 422: its content is invalid. */
export class BodyError extends Error {
  readonly status: 400 | 422;
  constructor(status: 400 | 422, text: string) {
    super(text);
    this.status = status;
  }
}

export interface ParsedDelivery {
  /** Whether the body is valid JSON; false if the store refused the body. */
  readonly isJson: boolean;
  /** In the order of the body; null for a refused item. */
  readonly items: readonly (AlertItem | null)[];
  readonly refused: readonly { readonly item: number; readonly reason: string }[];
  /** Name of the list in error texts; 'alerts' if absent. */
  readonly list?: 'events';
}

/** An event with its parsed body; `delivery` is null for actions. */
export interface ParsedEvent {
  readonly head: EventHead;
  readonly delivery: ParsedDelivery | null;
}

const REASONS_MAX = 5;

/** Parses a body. Throws `BodyError` if all items are refused. */
export function parseDelivery(head: DeliveryRequest, body: Buffer, rules: ParsingRules): ParsedDelivery {
  const parsed = parseItems(head, body, rules);
  // Events of older versions have no matchers.
  return { ...parsed, items: markHeartbeats(parsed.items, head.heartbeat_matchers ?? '') };
}

function parseItems(head: DeliveryRequest, body: Buffer, rules: ParsingRules): ParsedDelivery {
  const { text, payload } = parseBody(body, rules);
  if (head.endpoint === 'cloudevents') return parseCloudEvents(head, payload, rules);
  if (!isObject(payload)) throw new BodyError(422, `The body must be a JSON object.${listHint(payload)}`);
  if (head.endpoint === 'pagerduty') return parsePagerdutyEvent(head, payload, rules, text);
  const missing = missingAttributes(payload);
  if (missing.length > 0) {
    // This endpoint takes generic bodies too. A body that lacks only one attribute is in the Prometheus format.
    const isPrometheus = Object.hasOwn(payload, 'alerts') || missing.length === 1;
    if (head.endpoint === 'prometheus' && isPrometheus) {
      throw new BodyError(422, `The Prometheus format requires: ${missing.join(', ')}.`);
    }
    const item = readGeneric(payload, { ...genericRules(head, rules), envelope: {} });
    return { isJson: true, items: [{ ...item, retryKey: retryKeysOf(head, text)(0, '') }], refused: [] };
  }
  const read = readPrometheus(payload, head.integration, rules, retryKeysOf(head, text));
  const items = read.map(({ item }) => item ?? null);
  const refused = read.flatMap(({ refused }, item) => (refused ? [{ item, reason: refused }] : []));
  if (refused.length > 0 && refused.length === items.length) {
    throw new BodyError(422, `All alerts are refused. ${reasonsIn(refused)}.`);
  }
  return { isJson: true, items, refused };
}

const genericRules = (head: DeliveryRequest, rules: ParsingRules) => ({
  ...rules,
  mapping: head.mapping,
  senderRules: head.sender_rules ?? {},
  integration: head.integration,
  groupsByPayload: head.groups_by_payload,
});

/** A list is a batch. An invalid event does not affect the others. */
function parseCloudEvents(head: DeliveryRequest, payload: unknown, rules: ParsingRules): ParsedDelivery {
  const events = Array.isArray(payload) ? payload : [payload];
  if (events.length > CLOUD_EVENTS_MAX)
    throw new BodyError(
      422,
      `A batch can have at most ${CLOUD_EVENTS_MAX} events, not ${events.length}. Send smaller batches.`,
    );
  const read = events.map((event) => readCloudEvent(event, genericRules(head, rules)));
  const refused = read.flatMap(({ refused }, item) => (refused ? [{ item, reason: refused }] : []));
  if (refused.length > 0 && refused.length === events.length) {
    throw new BodyError(422, `All events are refused. ${reasonsIn(refused, 'events')}.`);
  }
  const items = read.map(({ item, identity }) =>
    item ? { ...item, retryKey: namedRetryKey(`${head.integration}|${identity.slice(0, 32)}`) } : null,
  );
  return { isJson: true, items, refused, list: 'events' };
}

function parsePagerdutyEvent(
  head: DeliveryRequest,
  event: JsonObject,
  rules: ParsingRules,
  text: string,
): ParsedDelivery {
  const read = readPagerduty(event, head.integration, rules);
  if ('refused' in read) throw new BodyError(422, read.refused);
  return { isJson: true, items: [{ ...read.item, retryKey: retryKeysOf(head, text)(0, '') }], refused: [] };
}

/** Advice for a body that is a list. Prometheus sends a list to the API of Alertmanager. */
function listHint(payload: unknown): string {
  if (!Array.isArray(payload)) return '';
  const isOfPrometheus = payload.some((item) => isObject(ownProperty(item, 'labels')));
  return isOfPrometheus
    ? ' This list is a request for the API of Alertmanager. Let Prometheus send to an Alertmanager (alerting.alertmanagers), and the Alertmanager to this URL (webhook_configs).'
    : ' Send each item of the list in its own request, or all items as alerts in the Prometheus format.';
}

const reasonsIn = (refused: ParsedDelivery['refused'], list = 'alerts'): string =>
  refused
    .slice(0, REASONS_MAX)
    .map(({ item, reason }) => `${list}[${item}]: ${reason}`)
    .join('; ');

/** The reasons for refused items in one text; null if no item is refused. */
export function refusalOf({
  items,
  refused,
  list,
}: Pick<ParsedDelivery, 'items' | 'refused' | 'list'>): string | null {
  if (refused.length === 0) return null;
  if (items.length === 0) return refused[0]?.reason ?? '';
  const more = refused.length > REASONS_MAX ? '; …' : '';
  return `${refused.length} of ${items.length} ${list ?? 'alerts'} are refused: ${reasonsIn(refused, list)}${more}`;
}

/** The JSON in a body. Throws `BodyError` if it is not JSON or nested too deep. */
export function parseBody(body: Buffer, { depth }: ParsingRules): { text: string; payload: unknown } {
  const shape = shapeOf(body);
  if (shape.isCut) throw new BodyError(400, 'The body is not JSON: it ends inside a list or an object.');
  if (shape.depth > depth) throw new BodyError(422, `The body is nested deeper than ${depth} levels.`);
  const text = textOfBody(body);
  try {
    return { text, payload: shape.mayBeRounded ? parseExact(text) : JSON.parse(text) };
  } catch {
    throw new BodyError(400, 'The body is not JSON.');
  }
}

/** Decodes a body without its byte order mark. */
function textOfBody(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1');
  if (!isUtf8(body)) throw new BodyError(400, 'The body is not UTF-8.');
  return withoutByteOrderMark(body).toString('utf8');
}

const MARK = Buffer.from('\ufeff');

export const withoutByteOrderMark = (body: Buffer): Buffer =>
  body[0] === MARK[0] && body.subarray(0, MARK.length).equals(MARK) ? body.subarray(MARK.length) : body;

/**
 * An idempotency key takes precedence over keys that are derived from the content. The retry key includes the body, so
 * reusing an idempotency key by mistake drops no alert.
 */
function retryKeysOf(head: DeliveryRequest, text: string): (item: number, derived: string) => string {
  const { idempotency_key: name, integration } = head;
  if (name !== '') {
    const named = namedRetryKey(`${integration}|${sha256(`${name}\n${text}`).slice(0, 32)}`);
    return (item) => `${named}|${item}`;
  }
  // Fingerprints are scoped to their integration already.
  return (_item, derived) => derived;
}
