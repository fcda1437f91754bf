import type { Traceparent } from '../../../infra/ports.ts';
import type { AlertItem, AlertStatus } from './alert.ts';
import type { Mapping } from './mapping.ts';
import type { EventRules } from './rules.ts';
import type { SenderRules } from './sender-rules.ts';

export const ALERTS_TOPIC = 'alerts.v1';
/** The group of all processes that decide on events. */
export const ALERTS_GROUP = 'grouping';

/** An event of the topic: a delivery, or a user's action on an alert. The order of the topic decides. */
export type EventHead = DeliveryHead | ActionHead;

interface Head {
  /** Random and unique; an event that the log delivers twice is recognized by it. */
  readonly id: string;
  readonly project: number;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly at: number;
  /** Process that waits for the result. */
  readonly from: string;
  /** Of the work that accepted it, where that is traced. */
  readonly traceparent?: Traceparent;
}

/** How a request arrived; its body follows as it was sent. */
export interface DeliveryHead extends Head {
  readonly kind: 'delivery';
  readonly integration: string;
  /** Selects the parser. */
  readonly endpoint: 'http' | 'prometheus' | 'cloudevents' | 'pagerduty';
  readonly mapping: Mapping | null;
  /** Rules of the integration at the time of acceptance. */
  readonly sender_rules: SenderRules | null;
  /** Matchers of the firing items that are heartbeats; '' for none. */
  readonly heartbeat_matchers: string;
  readonly groups_by_payload: boolean;
  /** '' when the sender gave none. */
  readonly idempotency_key: string;
  /**
   * The rules of the server that accepted it: another server may decide on it, or this one later with other
   * settings, and the sender was answered by these.
   */
  readonly rules: EventRules;
  /** The delivery of a sender whose refused part this is; a retry replaces its dead letter. */
  readonly redelivers?: string;
  /** What was read from the body, where the store refused the body. */
  readonly items?: readonly (AlertItem | null)[];
}

/** A delivery before it is accepted. */
export type DeliveryRequest = Omit<
  DeliveryHead,
  'id' | 'from' | 'at' | 'traceparent' | 'kind' | 'rules' | 'items'
>;

/** A user's action on an alert. */
export interface ActionHead extends Head {
  readonly kind: 'action';
  readonly iid: number;
  readonly by: string;
  readonly change: ActionChange;
  /** Status that the alert must have, or nothing changes: it may have ended meanwhile. */
  readonly expected?: AlertStatus;
  /** Whether it set back a resolved alert; absent before it was decided. */
  readonly reopens?: boolean;
}

export interface ActionChange {
  readonly status?: AlertStatus;
  readonly assignees?: readonly string[];
  readonly incident?: number;
}

/** An action before it is accepted. */
export type ActionRequest = Omit<ActionHead, 'id' | 'from' | 'at' | 'traceparent' | 'kind' | 'reopens'>;

/** An order to reduce all events of a project again by other rules, in the same order of the topic. */
export interface ReplayHead extends Head {
  readonly kind: 'replay';
  readonly dry_run: boolean;
  readonly rules: EventRules;
}

/** An order to delete events that were accepted before a time, up to a position that nothing follows from any more. */
export interface DeletionHead extends Head {
  readonly kind: 'deletion';
  readonly before: number;
  readonly until: number;
}

/** What the process that owns a project does for it in its place among the events. */
export type OrderHead = ReplayHead | DeletionHead;

const NEWLINE = 0x0a;

/** The head as one line of JSON, and the body behind it. */
export function encodeEvent(head: EventHead | OrderHead, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(`${encodeHead(head)}\n`), body]);
}

export function decodeEvent(bytes: Buffer): { head: EventHead | OrderHead; body: Buffer } {
  return {
    head: decodeHead<EventHead | OrderHead>(encodedHead(bytes).toString('utf8')),
    body: bytes.subarray(bytes.indexOf(NEWLINE) + 1),
  };
}

/** The head of an encoded event, as `alert_events` stores it. */
export const encodedHead = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.indexOf(NEWLINE));

export const encodeHead = (head: EventHead | OrderHead): string => JSON.stringify(head);

export const decodeHead = <Kind extends EventHead | OrderHead = EventHead>(json: string): Kind =>
  JSON.parse(json) as Kind;
