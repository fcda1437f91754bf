import { type AccountKey, parseAccount } from './accounts.ts';
import { dayOf, monthOf } from './calendar.ts';
import type { Input, Snapshot } from './input.ts';
import { isArray, isObject, type Json, type JsonObject, NumberToken } from './json.ts';
import { type Decimal, parseAmount, parseDecimal, parseIndex } from './numbers.ts';
import { compareKeys } from './rows.ts';

/** What a field of a payload has to be, or the fields of the objects in a list. */
type Demand =
  | 'account'
  | 'texts'
  | 'amount'
  | 'amount?'
  | 'index'
  | 'id'
  | 'text'
  | 'hex'
  | 'conviction'
  | 'usd'
  | 'workloads'
  | readonly [Fields]
  | { readonly fields: Fields };
type Fields = { readonly [field: string]: Demand };

const PAYLOADS: Readonly<Record<string, Fields>> = {
  staking_state: {
    active_era: 'index',
    validators: 'index',
    nominators: 'index',
    pools: 'index',
    pool_members: 'index',
    addresses_staking: 'index',
    staked: 'amount',
    staked_in_pools: 'amount',
    unbonding: 'amount',
    min_active_stake: 'amount',
  },
  validator_set: { active: 'texts', waiting: 'index', nominators: 'index' },
  issuance: { total: 'amount', inactive: 'amount' },
  treasury_balance: {
    balances: [{ account: 'text', asset: 'text', decimals: 'index', amount: 'amount' }],
  },
  stable_holdings: {
    holdings: [
      { coin: 'text', asset_id: 'text', decimals: 'index', issuance: 'amount', sovereign_held: 'amount' },
    ],
  },
  tvl: { tvl_usd: 'usd' },
  price: { symbol: 'text', usd: 'usd' },
  coretime_config: {
    sale_info: {
      fields: {
        sale_start: 'index',
        leadin_length: 'index',
        end_price: 'amount',
        region_begin: 'index',
        region_end: 'index',
        ideal_cores_sold: 'index',
        cores_offered: 'index',
        first_core: 'index',
        sellout_price: 'amount?',
        cores_sold: 'index',
      },
    },
    reservations: 'workloads',
    leases: [{ task: 'index', until: 'index' }],
    core_count: 'index',
  },
  contract_code: {
    code: [
      {
        code_hash: 'hex',
        owner: 'account',
        code_type: 'text',
        code_len: 'index',
        deposit: 'amount',
        refcount: 'index',
        behaviour_version: 'index',
      },
    ],
    contracts: [
      { contract_address: 'hex', code_hash: 'hex', storage_bytes: 'index', storage_items: 'index' },
    ],
  },
  delegations: {
    delegations: [
      {
        delegator: 'account',
        target: 'account',
        track: 'index',
        conviction: 'conviction',
        balance: 'amount',
      },
    ],
  },
  account_count: { count: 'index' },
  track_table: { tracks: [{ id: 'index', name: 'text', origin: 'text' }] },
  child_bounty_ids: { ids: [{ parent: 'id', old: 'id', new: 'id' }] },
};

const STRONGEST_CONVICTION = 6;

export function isSnapshotKind(kind: string): boolean {
  return Object.hasOwn(PAYLOADS, kind);
}

/** The first field of a payload that is missing or malformed; null for a payload that is whole. */
export function faultOf(kind: string, payload: JsonObject): string | null {
  return faultIn(payload, PAYLOADS[kind] ?? {}) ?? (kind === 'child_bounty_ids' ? repeatedId(payload) : null);
}

/** A child has one number before and one after it got another. */
function repeatedId(payload: JsonObject): string | null {
  const ids = new Payload(payload).items('ids');
  const isRepeated = (field: string) =>
    new Set(ids.map((id) => `${id.index('parent')} ${id.index(field)}`)).size < ids.length;
  return ['old', 'new'].find(isRepeated) ?? null;
}

function faultIn(value: Json | undefined, fields: Fields): string | null {
  if (!isObject(value)) return 'not an object';
  for (const [field, demand] of Object.entries(fields)) {
    if (!meets(value[field], demand)) return `bad ${field}`;
  }
  return null;
}

function meets(value: Json | undefined, demand: Demand): boolean {
  if (typeof demand === 'object') {
    if ('fields' in demand) return faultIn(value, demand.fields) === null;
    const [fields] = demand;
    return isArray(value) && value.every((item) => faultIn(item, fields) === null);
  }
  switch (demand) {
    case 'account':
      return parseAccount(value) !== null;
    case 'texts':
      return isArray(value) && value.every(isText);
    case 'amount':
      return parseAmount(value) !== null;
    case 'amount?':
      return value === null || parseAmount(value) !== null;
    case 'index':
      return indexOf(value) !== null;
    case 'id':
      return parseIndex(value) !== null;
    case 'text':
      return isText(value);
    case 'hex':
      return typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value);
    case 'conviction':
      return (indexOf(value) ?? Number.POSITIVE_INFINITY) <= STRONGEST_CONVICTION;
    case 'usd':
      return parseDecimal(value) !== null;
    case 'workloads':
      return isArray(value) && value.every(isArray);
  }
}

const isText = (value: Json | undefined) => typeof value === 'string' && value !== '';

/** A count is a number; digits in a string are an amount. */
const indexOf = (value: Json | undefined) => (value instanceof NumberToken ? parseIndex(value) : null);

/** Reads the fields of a payload that has been found whole. */
export class Payload {
  readonly #fields: JsonObject;

  constructor(value: Json | undefined) {
    if (!isObject(value)) throw new Error('a snapshot was read before it was checked');
    this.#fields = value;
  }

  index(field: string): number {
    return known(parseIndex(this.#fields[field]));
  }

  amount(field: string): bigint {
    return known(parseAmount(this.#fields[field]));
  }

  amountOrNull(field: string): bigint | null {
    return parseAmount(this.#fields[field]);
  }

  account(field: string): AccountKey {
    return known(parseAccount(this.#fields[field]));
  }

  text(field: string): string {
    const value = this.#fields[field];
    return known(typeof value === 'string' ? value : null);
  }

  usd(field: string): Decimal {
    return known(parseDecimal(this.#fields[field]));
  }

  list(field: string): readonly Json[] {
    const value = this.#fields[field];
    return known(isArray(value) ? value : null);
  }

  items(field: string): readonly Payload[] {
    return this.list(field).map((item) => new Payload(item));
  }

  inner(field: string): Payload {
    return new Payload(this.#fields[field]);
  }
}

/** A snapshot that stands for a day or a month of a chain. */
export type Stated = {
  readonly period: string;
  readonly relay: string;
  readonly chain: string;
  readonly snapshot: Snapshot;
  readonly payload: Payload;
};

/** The latest snapshot of a kind of each chain and day, in the order of daily rows. */
export const lastOfDays = (input: Input, kind: string) => lastOf(input, kind, dayOf);

/** The latest snapshot of a kind of each chain and month, in the order of monthly rows. */
export const lastOfMonths = (input: Input, kind: string) => lastOf(input, kind, monthOf);

function lastOf(input: Input, kind: string, periodOf: (time: number) => string): readonly Stated[] {
  const latest = new Map<string, Stated>();
  for (const snapshot of snapshotsOf(input, kind)) {
    const { relay_chain: relay, chain } = snapshot;
    const period = periodOf(snapshot.asOf);
    const payload = new Payload(snapshot.payload);
    latest.set([period, relay, chain].join(' '), { period, relay, chain, snapshot, payload });
  }
  return [...latest.values()].toSorted((a, b) =>
    compareKeys([a.period, a.relay, a.chain], [b.period, b.relay, b.chain]),
  );
}

/** The snapshots of a kind, earliest first. */
export function snapshotsOf(input: Input, kind: string): readonly Snapshot[] {
  return input.snapshots.filter((one) => one.kind === kind).toSorted((a, b) => a.asOf - b.asOf);
}

function known<T>(value: T | null): T {
  if (value === null) throw new Error('a snapshot was read before it was checked');
  return value;
}
