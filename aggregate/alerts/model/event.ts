import { isAscii, isUtf8 } from 'node:buffer';
import { parseExact } from '../../../ingest/decode/json.ts';
import { type GenericRules, readGeneric } from '../formats/generic.ts';
import type { Mapping } from '../formats/mapping.ts';
import { missingAttributes, readPrometheus } from '../formats/prometheus.ts';
import { depthOf, isObject, sha256 } from '../formats/values.ts';
import type { GroupingRules } from '../reducer/grouping.ts';
import type { AlertItem, AlertStatus } from './alert.ts';

export const ALERTS_TOPIC = 'alerts.v1';

/** What arrives on the topic, in the order that decides everything: deliveries, and what people do to alerts. */
export type EventHead = DeliveryHead | ActionHead;

interface Head {
  /** Unguessable and unique; the same event handed over twice is known by it. */
  readonly id: string;
  readonly project: number;
  /** When it was accepted. */
  readonly at: number;
  /** Process that waits for the outcome. */
  readonly from: string;
}

/** How a request came in; its body follows as it was sent. */
export interface DeliveryHead extends Head {
  readonly kind: 'delivery';
  readonly integration: string;
  /** Which of the two addresses of the integration was used. */
  readonly door: 'http' | 'prometheus';
  readonly mapping: Mapping | null;
  readonly groups_by_payload: boolean;
  /** What the sender calls the delivery; '' when it does not. */
  readonly idempotency_key: string;
  /**
   * The rules of the server that accepted it: it may be decided on by another one, or later, and its sender was told
   * what these make of it. Absent where an older version accepted it.
   */
  readonly rules?: CarriedRules;
}

export type CarriedRules = DeliveryRules & GroupingRules;

/** What whoever accepts a delivery knows of it. */
export type GivenDelivery = Omit<DeliveryHead, 'id' | 'from' | 'at' | 'kind' | 'rules'>;

/** What somebody did to an alert. */
export interface ActionHead extends Head {
  readonly kind: 'action';
  readonly iid: number;
  readonly by: string;
  readonly change: {
    readonly status?: AlertStatus;
    readonly assignees?: readonly string[];
    readonly incident?: number;
  };
}

/** An order to decide on all events of a project anew by other rules, at its place in the order of everything else. */
export interface ReplayHead extends Head {
  readonly kind: 'replay';
  readonly dry_run: boolean;
  readonly rules: CarriedRules;
}

const NEWLINE = 0x0a;

export function writeEvent(head: EventHead | ReplayHead, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** What `writeEvent` wrote of the head. */
export const headText = (bytes: Buffer): string => bytes.toString('utf8', 0, bytes.indexOf(NEWLINE));

export function readEvent<Kind extends EventHead | ReplayHead = EventHead>(
  bytes: Buffer,
): { head: Kind; body: Buffer } {
  const end = bytes.indexOf(NEWLINE);
  return { head: JSON.parse(bytes.toString('utf8', 0, end)) as Kind, body: bytes.subarray(end + 1) };
}

export interface DeliveryRules extends Omit<GenericRules, 'mapping' | 'groupsByPayload'> {
  readonly depth: number;
}

/** A body that tells of no alert at all, with the status that says why. */
export class BodyError extends Error {
  readonly status: 400 | 422;
  constructor(status: 400 | 422, text: string) {
    super(text);
    this.status = status;
  }
}

export interface ReadDelivery {
  /** The body as text. */
  readonly text: string;
  /** In the order of the body; null where an item was refused. */
  readonly items: readonly (AlertItem | null)[];
  readonly refused: readonly { readonly item: number; readonly reason: string }[];
}

const REASONS_SHOWN = 5;

/** Reads a body; throws `BodyError` when nothing in it can be taken. */
export function readDelivery(head: GivenDelivery, body: Buffer, rules: DeliveryRules): ReadDelivery {
  const { text, payload } = parseBody(body, rules);
  if (!isObject(payload)) throw new BodyError(422, 'The body must be a JSON object.');
  const missing = missingAttributes(payload);
  if (missing.length > 0) {
    if (head.door === 'prometheus' && Object.hasOwn(payload, 'alerts')) {
      throw new BodyError(422, `The Prometheus format requires: ${missing.join(', ')}.`);
    }
    const item = readGeneric(payload, {
      ...rules,
      mapping: head.mapping,
      groupsByPayload: head.groups_by_payload,
    });
    return { text, items: [{ ...item, retryKey: retryKeysOf(head, text)(0, '') }], refused: [] };
  }
  const read = readPrometheus(payload, head.integration, rules, retryKeysOf(head, text));
  const items = read.map(({ item }) => item ?? null);
  const refused = read.flatMap(({ refused }, item) => (refused ? [{ item, reason: refused }] : []));
  if (refused.length > 0 && refused.length === items.length) {
    const shown = refused.slice(0, REASONS_SHOWN).map(({ item, reason }) => `alerts[${item}]: ${reason}`);
    throw new BodyError(422, `No alert can be taken. ${shown.join('; ')}.`);
  }
  return { text, items, refused };
}

function parseBody(body: Buffer, { depth }: DeliveryRules): { text: string; payload: unknown } {
  if (depthOf(body) > depth) throw new BodyError(422, `The body is nested deeper than ${depth} levels.`);
  const text = decoded(body);
  try {
    return { text, payload: parseExact(text) };
  } catch {
    throw new BodyError(400, 'The body is not JSON.');
  }
}

/** Without the mark that some tools put in front of UTF-8. */
function decoded(body: Buffer): string {
  if (isAscii(body)) return body.toString('latin1');
  if (!isUtf8(body)) throw new BodyError(400, 'The body is not UTF-8.');
  const text = body.toString('utf8');
  return text.startsWith('\ufeff') ? text.slice(1) : text;
}

/**
 * A sender's own name for a delivery comes first. It counts together with the body: a name that is used for
 * something else by mistake must not swallow an alert.
 */
function retryKeysOf(head: GivenDelivery, text: string): (item: number, derived: string) => string {
  const { idempotency_key: name, integration } = head;
  if (name !== '') {
    const named = `${NAMED}${integration}|${sha256(`${name}\n${text}`).slice(0, 32)}`;
    return (item) => `${named}|${item}`;
  }
  // Fingerprints are scoped to their integration already.
  return (_item, derived) => derived;
}

const NAMED = 'named|';
/** Whether the sender named the delivery itself, so that its name holds for longer. */
export const isNamed = (retryKey: string): boolean => retryKey.startsWith(NAMED);
