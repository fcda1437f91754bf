import type { Span } from '@opentelemetry/api';
import { jsonLine } from '../../../infra/clickhouse/settings.ts';
import type { LogRecord, Pieces } from '../../../infra/ports.ts';
import type { DeadLetter } from '../../../ingest/dead-letters/dead-letters.ts';
import { type ParsedDelivery, type ParsedEvent, withoutByteOrderMark } from '../formats/delivery.ts';
import { ALERTS_TOPIC, type DeliveryHead, type EventHead, encodedHead, encodeHead } from '../model/event.ts';
import type { Reduction } from '../reducer/reduce.ts';
import type { EventParser } from './parser.ts';

/** A row of `alert_events`, with head and body separate from the other columns. */
export interface EventInsert {
  readonly head: EventHead;
  /** JSON on one line. */
  readonly headJson: Buffer;
  readonly columns: ReturnType<typeof columnValues>;
  readonly body: Buffer;
  /** Whether the body is valid JSON. */
  readonly isJson: boolean;
  /** Parses the items of the body again. Needed only if the store refuses the body. */
  readonly readItems: () => ParsedDelivery['items'];
}

/** An event of the log and its result. */
export interface ReducedEvent extends ParsedEvent {
  readonly body: Buffer;
  readonly record: LogRecord;
  readonly reduction: Reduction;
  /** Lasts until the event is durable. */
  readonly span: Span;
}

export function eventInsert(event: ReducedEvent, parser: EventParser): EventInsert {
  const { delivery, record, body, reduction } = event;
  const head = headOf(event.head, reduction);
  return {
    head,
    headJson: head === event.head ? encodedHead(record.value) : Buffer.from(encodeHead(head)),
    columns: columnValues(event),
    body: withoutByteOrderMark(body),
    isJson: delivery?.isJson ?? false,
    readItems: () => parser.parse(head, body).delivery?.items ?? [],
  };
}

/** Reduces an action to its effective change, so that no two events report the same change. */
export const headOf = (head: EventHead, { change, reopens = false }: Reduction): EventHead =>
  head.kind === 'action' && change !== undefined ? { ...head, change, reopens } : head;

const columnValues = ({ head, record, reduction }: ReducedEvent) => ({
  project: head.project,
  position: reduction.position,
  id: head.id,
  kind: head.kind,
  at: head.at,
  outcomes: reduction.outcomes,
  iids: reduction.iids,
  retry_keys: reduction.retryKeys,
  log_partition: record.partition,
  log_offset: record.offset,
});

/**
 * Replacement rows for an event that the store refuses, most complete first. The last one has no data of the sender, so
 * that the event keeps its position. Its alerts are stored in any case.
 */
export function replacementsOf(event: EventInsert): EventInsert[] {
  const { head, columns } = event;
  const emptied = { ...event, body: Buffer.alloc(0), isJson: false };
  const bare: EventHead = head.kind === 'action' ? { ...head, by: '', change: {} } : bareDelivery(head);
  return [
    ...(event.isJson ? [{ ...event, isJson: false }] : []),
    ...(head.kind === 'delivery'
      ? [{ ...emptied, headJson: Buffer.from(encodeHead({ ...head, items: event.readItems() })) }]
      : []),
    {
      ...emptied,
      headJson: Buffer.from(encodeHead(bare)),
      columns: { ...columns, outcomes: [], iids: [], retry_keys: [] },
    },
  ];
}

const bareDelivery = ({
  id,
  project,
  at,
  from,
  integration,
  endpoint,
  rules,
}: DeliveryHead): DeliveryHead => ({
  ...{ kind: 'delivery', id, project, at, from, integration, endpoint, rules },
  mapping: null,
  sender_rules: null,
  heartbeat_matchers: '',
  groups_by_payload: true,
  idempotency_key: '',
  items: [],
});

/** The dead letter of a delivery. Its origin identifies the delivery for a retry, see `deliveryIn`. */
export const deliveryLetter = (
  { project, id }: Pick<EventHead, 'project' | 'id'>,
  reason: string,
  bytes: Buffer,
): DeadLetter => ({
  topic: ALERTS_TOPIC,
  source: 'alerts',
  origin: `project ${project}, delivery ${id}`,
  line: 0,
  reason,
  bytes,
});

/** Parses the origin of a dead letter. */
export function deliveryIn(origin: string): { project: number; id: string } | null {
  const [, project, id] = /^project (\d+), delivery (\S+)$/.exec(origin) ?? [];
  return project === undefined || id === undefined ? null : { project: Number(project), id };
}

/** Names of the columns that `linesOf` writes. */
export const columnsOf = ({ columns }: EventInsert): string[] => [...Object.keys(columns), 'head', 'body'];

/**
 * Formats events as JSON lines. Heads, and bodies that are a JSON object on one line, are not quoted: ClickHouse stores
 * their text unchanged in the string columns, and quoting would cost more than everything else.
 */
export const linesOf = (events: readonly EventInsert[]): Pieces[] =>
  events.map(({ headJson, columns, body, isJson }) => {
    const isOneLine = body[0] === OPENING && body.at(-1) === CLOSING && !body.includes(LINE_END);
    const text = isJson && isOneLine ? body : Buffer.from(JSON.stringify(body.toString('utf8')));
    return [Buffer.from(`${jsonLine(columns).slice(0, -1)},"head":`), headJson, BODY, text, END];
  });

const OPENING = 0x7b;
const CLOSING = 0x7d;
const LINE_END = 0x0a;
const BODY = Buffer.from(',"body":');
const END = Buffer.from('}');
