import type { Traceparent } from '../../../infra/ports.ts';
import type { AlertItem, AlertStatus } from './alert.ts';
import type { Mapping } from './mapping.ts';
import type { EventRules } from './rules.ts';
import type { SenderRules } from './sender-rules.ts';

export const ALERTS_TOPIC = 'alerts.v1';
/** The consumer group of the processes that process events. */
export const ALERTS_GROUP = 'grouping';

/** An event of the topic: a delivery, or a user's action on an alert. Events take effect in the order of the topic. */
export type EventHead = DeliveryHead | ActionHead;

interface Head {
  /** A UUID. It identifies an event that the log delivers twice. */
  readonly id: string;
  readonly project: number;
  /** When it was accepted, in milliseconds since the epoch. */
  readonly at: number;
  /** Process that waits for the result. */
  readonly from: string;
  /** Trace context of the request that sent the event. */
  readonly traceparent?: Traceparent;
}

/** The metadata of a delivery. The body follows unchanged. */
export interface DeliveryHead extends Head {
  readonly kind: 'delivery';
  readonly integration: string;
  /** Endpoint of the request. Selects the parser; `http` and `prometheus` differ only in an error text. */
  readonly endpoint: 'http' | 'prometheus' | 'cloudevents' | 'pagerduty';
  readonly mapping: Mapping | null;
  /** Rules of the integration at the time of acceptance. */
  readonly sender_rules: SenderRules | null;
  /** Matchers of the firing items that are heartbeats; '' for none. */
  readonly heartbeat_matchers: string;
  readonly groups_by_payload: boolean;
  /** '' if the sender set none. */
  readonly idempotency_key: string;
  /**
   * Rules of the server that accepted the delivery. Another process, with other settings, may reduce it and must get
   * the same result.
   */
  readonly rules: EventRules;
  /** Id of the original delivery, if this is a retry of its refused items. The result replaces its dead letter. */
  readonly redelivers?: string;
  /** The parsed items, if the store refused the body. */
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
  /** The action has an effect only if the alert has this status, because the alert may have ended meanwhile. */
  readonly expected?: AlertStatus;
  /** Whether the action reopened a resolved alert; absent before it is processed. */
  readonly reopens?: boolean;
}

export interface ActionChange {
  readonly status?: AlertStatus;
  readonly assignees?: readonly string[];
  readonly incident?: number;
}

/** An action before it is accepted. */
export type ActionRequest = Omit<ActionHead, 'id' | 'from' | 'at' | 'traceparent' | 'kind' | 'reopens'>;

/** A command to reduce all events of a project again by other rules. */
export interface ReplayHead extends Head {
  readonly kind: 'replay';
  readonly dry_run: boolean;
  readonly rules: EventRules;
}

/** A command to delete events that were accepted before a time, up to a position that every consumer has passed. */
export interface DeletionHead extends Head {
  readonly kind: 'deletion';
  readonly before: number;
  readonly until: number;
}

/** A command to the process that owns a project. It runs at its place among the events of the topic. */
export type CommandHead = ReplayHead | DeletionHead;

const NEWLINE = 0x0a;

/** Encodes the head as one line of JSON, followed by the body. */
export function encodeEvent(head: EventHead | CommandHead, body: Buffer = Buffer.alloc(0)): Buffer {
  return Buffer.concat([Buffer.from(`${encodeHead(head)}\n`), body]);
}

export function decodeEvent(bytes: Buffer): { head: EventHead | CommandHead; body: Buffer } {
  return {
    head: decodeHead<EventHead | CommandHead>(encodedHead(bytes).toString('utf8')),
    body: bytes.subarray(bytes.indexOf(NEWLINE) + 1),
  };
}

/** The head of an encoded event, as `alert_events` stores it. */
export const encodedHead = (bytes: Buffer): Buffer => bytes.subarray(0, bytes.indexOf(NEWLINE));

export const encodeHead = (head: EventHead | CommandHead): string => JSON.stringify(head);

export const decodeHead = <Kind extends EventHead | CommandHead = EventHead>(json: string): Kind =>
  JSON.parse(json) as Kind;
