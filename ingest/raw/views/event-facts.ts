import {
  EVENT_FIELDS,
  type FieldKind,
  type FieldOf,
  fieldsOfEvent,
  type KnownEvent,
  lengthsOf,
  positionOf,
} from '../../decode/event-fields.ts';

/**
 * SQL that reads facts from the data of events, by the positions in `decode/event-fields.ts`. An event with an unknown
 * number of fields is stored, but its fact is refused.
 */

const names = Object.keys(EVENT_FIELDS) as KnownEvent[];

/** Zero-based positions of the fields of a kind. */
const positionsOf = (event: KnownEvent, kind: FieldKind): number[] =>
  (fieldsOfEvent(event) ?? []).flatMap(([, given], position) => (given === kind ? [position] : []));

const facts = names.map((event) => {
  const [account, counterparty] = positionsOf(event, 'account');
  const [amount, secondAmount] = positionsOf(event, 'amount');
  return {
    lengths: lengthsOf(event),
    account,
    counterparty,
    amount: positionsOf(event, 'last_amount').length > 0 ? ('last' as const) : amount,
    secondAmount,
    indexes: positionsOf(event, 'whole'),
    flag: positionsOf(event, 'flag')[0],
    region: positionsOf(event, 'region')[0],
    parts: positionsOf(event, 'region_pair')[0],
  };
});
const list = (values: readonly unknown[]) => `[${values.join(', ')}]`;

/** A field of an event's data. */
export const fieldSql = <Event extends KnownEvent>(event: Event, field: FieldOf<Event>, data: string) =>
  `${data}[${positionOf(event, field) + 1}]`;

/** A field of an event that pays an account, counted from 1. An incentive has an era before the account. */
export const paidField = (position: number) => `data[${position} + (event = 'ValidatorIncentivePaid')]`;

/** Whether the data of an event has a known number of fields. */
export const isComplete = (event: KnownEvent, data: string) => {
  const lengths = lengthsOf(event);
  return `length(${data}) ${lengths.length === 1 ? `= ${lengths[0]}` : `IN (${lengths.join(', ')})`}`;
};

/** The number of a known event, from 1; 0 for other events. So only one expression looks up names. */
export function factSql(name: string): string {
  const quoted = names.map((event) => `'${event}'`);
  return `transform(${name}, ${list(quoted)}, ${list(facts.map((_, i) => i + 1))}, 0)`;
}

export type Part = 'account' | 'counterparty' | 'amount' | 'secondAmount';

/** Position of a part in the data of a fact, from 1; -1: the last field; 0: none. */
function positionSql(fact: string, part: Part): string {
  const positions = facts.map(({ [part]: position = -1 }) => (position === 'last' ? -1 : position + 1));
  return `${list(positions)}[${fact}]`;
}

/** A part of an event's data as the source writes it; empty if the event has none. */
export const partSql = (fact: string, data: string, part: Part) => `${data}[${positionSql(fact, part)}]`;

/** Why the fact of an event is refused; empty if it is read, or if the event has no fact. */
export function refusedSql(fact: string, data: string, columns: Readonly<Record<Part, string>>): string {
  const lengths = list(facts.map((known) => list(known.lengths)));
  const indexes = list(facts.map(({ indexes }) => list(indexes.map((position) => position + 1))));
  const has = (part: Part) => `${positionSql(fact, part)} != 0`;
  const region = `${data}[if(${isWith(fact, 'region', 1)}, 2, 1)]`;
  const isNoRegion = `arrayExists(text -> NOT ${isRegion('text')}, if(${isWith(fact, 'parts')}, arrayConcat([${region}], JSONExtractArrayRaw(${data}[2])), [${region}]))`;
  return `multiIf(
    ${fact} = 0, '',
    NOT has(${lengths}[${fact}], length(${data})), concat('unknown number of fields: ', toString(length(${data}))),
    ${has('account')} AND ${columns.account} = '', 'account: not an address',
    ${has('counterparty')} AND ${columns.counterparty} = '', 'counterparty: not an address',
    ${has('amount')} AND isNull(${columns.amount}), 'amount: not an unsigned integer',
    ${has('secondAmount')} AND isNull(${columns.secondAmount}), 'amount: not an unsigned integer',
    arrayExists(p -> p <= length(${data}) AND NOT ${isIndex(`${data}[p]`)}, ${indexes}[${fact}]), 'index: not a whole number',
    ${isWith(fact, 'flag')} AND ${data}[4] NOT IN ('true', 'false'), 'flag: neither true nor false',
    ${isWith(fact, 'region')} AND ${isNoRegion}, 'region: not begin, core and mask',
    ${isWith(fact, 'parts')} AND JSONLength(${data}[2]) != 2, 'parts: not two',
    '')`;
}

/** Whether a fact has a part; if `at` is given, at that position of its data. */
function isWith(fact: string, part: 'flag' | 'region' | 'parts', at?: number): string {
  const numbers = facts.flatMap(({ [part]: position }, i) =>
    position !== undefined && position === (at ?? position) ? [i + 1] : [],
  );
  return `${fact} IN (${numbers.join(', ')})`;
}

/** Whether a text is an index below 9 * 10^15: folds use doubles, which are exact up to there. */
export const isIndex = (text: string) =>
  `match(${text}, '^([0-9]{1,15}|[0-8][0-9]{15}|0x[0-9a-fA-F]{1,13})$')`;

export const isMask = (text: string) => `match(${text}, '^0x[0-9a-fA-F]{20}$')`;

function isRegion(text: string): string {
  const isIndexed = (name: string) => isIndex(`replaceAll(JSONExtractRaw(${text}, '${name}'), '"', '')`);
  return `(${isIndexed('begin')} AND ${isIndexed('core')} AND ${isMask(`JSONExtractString(${text}, 'mask')`)})`;
}
