import { keyOf } from '../chains/address.ts';
import { parseAmount } from './amount.ts';

// What the positions of the coretime broker's events mean. Each part of `data` comes as the text of its JSON
// value: strings and numbers plain, null as an empty text.

/** A span of timeslices on a core; of the core's 80 parts, those whose bits are set in the mask. */
export type RegionId = { begin: number; core: number; mask: string };
export type Assignment = { task: number } | 'Pool' | 'Idle';
export type Workload = { mask: string; assignment: Assignment }[];

type Data = readonly string[];

const READERS = {
  SaleInitialized: (data: Data) => ({
    sale_start: whole(data[0]),
    leadin_length: whole(data[1]),
    start_price: planck(data[2]),
    end_price: planck(data[3]),
    region_begin: whole(data[4]),
    region_end: whole(data[5]),
    ideal_cores_sold: whole(data[6]),
    cores_offered: whole(data[7]),
  }),
  Purchased: (data: Data) => ({
    who: account(data[0]),
    region: regionId(data[1]),
    price: planck(data[2]),
    duration: whole(data[3]),
  }),
  Renewed: (data: Data) => ({
    who: account(data[0]),
    price: planck(data[1]),
    old_core: whole(data[2]),
    core: whole(data[3]),
    begin: whole(data[4]),
    duration: whole(data[5]),
    workload: workload(data[6]),
  }),
  Transferred: (data: Data) => ({
    region: regionId(data[0]),
    duration: whole(data[1]),
    old_owner: accountOrNobody(data[2]),
    owner: accountOrNobody(data[3]),
  }),
  Partitioned: (data: Data) => ({ region: regionId(data[0]), parts: regionPair(data[1]) }),
  Interlaced: (data: Data) => ({ region: regionId(data[0]), parts: regionPair(data[1]) }),
  Assigned: (data: Data) => ({
    region: regionId(data[0]),
    duration: whole(data[1]),
    task: whole(data[2]),
  }),
  Pooled: (data: Data) => ({ region: regionId(data[0]), duration: whole(data[1]) }),
  RegionDropped: (data: Data) => ({ region: regionId(data[0]), duration: whole(data[1]) }),
  AssignmentRemoved: (data: Data) => ({ region: regionId(data[0]) }),
  RegionUnpooled: (data: Data) => ({ region: regionId(data[0]) }),
};

export type BrokerEventKind = keyof typeof READERS;
export type BrokerEvent = {
  [Kind in BrokerEventKind]: { kind: Kind } & ReturnType<(typeof READERS)[Kind]>;
}[BrokerEventKind];
export type BrokerEventOf<Kind extends BrokerEventKind> = Extract<BrokerEvent, { kind: Kind }>;

/** The event with its fields named; null when a field is not what its position says, or for another event. */
export function readBrokerEvent(kind: string, data: Data): BrokerEvent | null {
  if (!Object.hasOwn(READERS, kind)) return null;
  try {
    return { kind, ...READERS[kind as BrokerEventKind](data) } as BrokerEvent;
  } catch (error) {
    if (error instanceof Unreadable) return null;
    throw error;
  }
}

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

const accountOrNobody = (text: string | undefined) => (text === '' ? null : account(text));

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

/** `{"task":"2000"}`, `{"pool":null}` or `"Pool"`, in whatever case the source writes a variant. */
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
