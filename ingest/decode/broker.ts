import { keyOf } from '../chains/address.ts';
import { parseAmount } from './amount.ts';
import { type EVENT_FIELDS, type FieldKind, fieldsOfEvent, type KnownEvent } from './event-fields.ts';

// Reads events of the coretime broker into named fields. Each item of `data` is a text: strings and numbers without
// quotes, objects and lists as JSON, null as the empty text.

/** A region: timeslices from `begin` on a core. The mask selects some of the 80 parts of the core. */
export type RegionId = { begin: number; core: number; mask: string };
type Assignment = { task: number } | 'Pool' | 'Idle';
export type Workload = { mask: string; assignment: Assignment }[];

type Data = readonly string[];

/** The TypeScript type of each kind of field. Fields of the kind `any` are not read. */
interface FieldTypes {
  account: string;
  amount: bigint;
  whole: number;
  region: RegionId;
  region_pair: [RegionId, RegionId];
  optional_account: string | null;
  workload: Workload;
}
type ReadKind = keyof FieldTypes;

const READERS: { readonly [Kind in ReadKind]: (text: string | undefined) => FieldTypes[Kind] } = {
  account,
  amount: planck,
  whole,
  region: regionId,
  region_pair: regionPair,
  optional_account: (text) => (text === '' ? null : account(text)),
  workload,
};

type EventName<Kind extends string> = `broker.${Kind}`;
export type BrokerEventKind = KnownEvent extends infer Name
  ? Name extends EventName<infer Kind>
    ? Kind
    : never
  : never;

type Fields<Kind extends BrokerEventKind> = (typeof EVENT_FIELDS)[EventName<Kind>]['fields'];
type Read<Of> = {
  -readonly [Name in keyof Of as Of[Name] extends ReadKind ? Name : never]: FieldTypes[Of[Name] & ReadKind];
};
export type BrokerEvent = {
  [Kind in BrokerEventKind]: { kind: Kind } & Read<Fields<Kind>>;
}[BrokerEventKind];
export type BrokerEventOf<Kind extends BrokerEventKind> = Extract<BrokerEvent, { kind: Kind }>;

/** Reads an event into named fields; null for an unknown event, or if a field has an unexpected value. */
export function readBrokerEvent(kind: string, data: Data): BrokerEvent | null {
  const fields = fieldsOfEvent(`broker.${kind}`);
  if (fields === undefined) return null;
  try {
    const read = fields.flatMap(([name, type], position) =>
      isRead(type) ? [[name, READERS[type](data[position])] as const] : [],
    );
    return { kind, ...Object.fromEntries(read) } as BrokerEvent;
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

const isRead = (kind: FieldKind): kind is ReadKind => Object.hasOwn(READERS, kind);

class Unreadable extends Error {}

function planck(text: string | undefined): bigint {
  const amount = parseAmount(text);
  if (amount === null) throw new Unreadable();
  return amount;
}

function whole(value: unknown): number {
  const number = Number(parseAmount(value) ?? Number.NaN);
  if (!Number.isSafeInteger(number)) throw new Unreadable();
  return number;
}

function account(text: string | undefined): string {
  const key = keyOf(text?.startsWith('{') ? json(text) : text);
  if (key === null) throw new Unreadable();
  return key;
}

function regionId(value: unknown): RegionId {
  const { begin, core, mask } = record(typeof value === 'string' ? json(value) : value);
  return { begin: whole(begin), core: whole(core), mask: coreMask(mask) };
}

function regionPair(text: string | undefined): [RegionId, RegionId] {
  const [first, second, ...others] = list(json(text));
  if (others.length > 0) throw new Unreadable();
  return [regionId(first), regionId(second)];
}

function coreMask(value: unknown): string {
  if (typeof value !== 'string' || !/^0x[0-9a-fA-F]{20}$/.test(value)) throw new Unreadable();
  return value.toLowerCase();
}

function workload(text: string | undefined): Workload {
  return list(json(text)).map((item) => {
    const { mask, assignment: given } = record(item);
    return { mask: coreMask(mask), assignment: assignment(given) };
  });
}

/** Reads `{"task":"2000"}`, `{"pool":null}` or `"Pool"`. The variant may be in upper or lower case. */
function assignment(value: unknown): Assignment {
  const entries = typeof value === 'string' ? [[value, null] as const] : Object.entries(record(value));
  const [[variant, content] = []] = entries;
  switch (entries.length === 1 && variant?.toLowerCase()) {
    case 'task':
      return { task: whole(content) };
    case 'pool':
      return 'Pool';
    case 'idle':
      return 'Idle';
    default:
      throw new Unreadable();
  }
}

function json(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? '');
  } catch {
    throw new Unreadable();
  }
}

function record(value: unknown): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Unreadable();
  return value as Record<string, unknown>;
}

function list(value: unknown): unknown[] {
  if (!Array.isArray(value)) throw new Unreadable();
  return value;
}
