import { parseExact } from '../../ingest/decode/json.ts';
import type { AlertItem, Status } from './alert.ts';
import { type GenericRules, readGeneric } from './generic.ts';
import type { Mapping } from './mapping.ts';
import { missingAttributes, readPrometheus } from './prometheus.ts';
import { depthOf, isObject, sha256 } from './values.ts';

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
}

/** What somebody did to an alert. */
export interface ActionHead extends Head {
  readonly kind: 'action';
  readonly iid: number;
  readonly by: string;
  readonly change: {
    readonly status?: Status;
    readonly assignees?: readonly string[];
    readonly incident?: number;
  };
}

const NEWLINE = 0x0a;

export function writeEvent(head: EventHead, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

export function readEvent(bytes: Buffer): { head: EventHead; body: Buffer } {
  const end = bytes.indexOf(NEWLINE);
  return { head: JSON.parse(bytes.toString('utf8', 0, end)) as EventHead, body: bytes.subarray(end + 1) };
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

/** Reads a body; throws `BodyError` when nothing in it can be taken. A pure function of what the event holds. */
export function readDelivery(head: DeliveryHead, body: Buffer, rules: DeliveryRules): ReadDelivery {
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
    return { text, items: [{ ...item, retryKey: retryKeyOf(head, text, 0, '') }], refused: [] };
  }
  const read = readPrometheus(payload, head.integration, rules);
  const items = read.map(({ item }, i) =>
    item ? { ...item, retryKey: retryKeyOf(head, text, i, item.retryKey) } : null,
  );
  const refused = read.flatMap(({ refused }, item) => (refused ? [{ item, reason: refused }] : []));
  if (refused.length > 0 && refused.length === items.length) {
    const shown = refused.slice(0, REASONS_SHOWN).map(({ item, reason }) => `alerts[${item}]: ${reason}`);
    throw new BodyError(422, `No alert can be taken. ${shown.join('; ')}.`);
  }
  return { text, items, refused };
}

function parseBody(body: Buffer, { depth }: DeliveryRules): { text: string; payload: unknown } {
  if (depthOf(body) > depth) throw new BodyError(422, `The body is nested deeper than ${depth} levels.`);
  try {
    const text = UTF8.decode(body);
    return { text, payload: parseExact(text) };
  } catch (error) {
    const reason = error instanceof SyntaxError ? 'The body is not JSON.' : 'The body is not UTF-8.';
    throw new BodyError(400, reason);
  }
}
const UTF8 = new TextDecoder('utf-8', { fatal: true });

/**
 * A sender's own name for a delivery comes first. It counts together with the body: a name that is used for
 * something else by mistake must not swallow an alert.
 */
function retryKeyOf(head: DeliveryHead, text: string, item: number, derived: string): string {
  if (head.idempotency_key !== '') {
    const named = sha256(`${head.idempotency_key}\n${text}`);
    return `${NAMED}${head.integration}|${named.slice(0, 32)}|${item}`;
  }
  return derived === '' ? '' : `${head.integration}|${derived}`;
}

const NAMED = 'named|';
/** Whether the sender named the delivery itself, so that its name holds for longer. */
export const isNamed = (retryKey: string): boolean => retryKey.startsWith(NAMED);
