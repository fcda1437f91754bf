import { FIRST_DAY, LAST_DAY } from '../../../infra/clickhouse/date-range.ts';
import { join, raw, type Sql, sql } from '../../../infra/sql.ts';
import { keyOf } from '../../../ingest/chains/address.ts';
import { parseAmount } from '../../../ingest/decode/amount.ts';
import { parseExact } from '../../../ingest/decode/json.ts';
import type { SnapshotKind } from '../../../ingest/decode/snapshot.ts';
import { canonicalFacts, relayOf, type Window, within } from '../../../ingest/raw/canonical.ts';
import { calls, chains, events, snapshots } from '../../../ingest/raw/tables.ts';
import { chainsOf, dateSql, pricesOf } from './sql.ts';

/**
 * The input of a fold, in chain order. Facts of all chains of a relay chain are sorted by block time, chain and height;
 * within a block by initialization, extrinsics and finalization; within an extrinsic events precede executed calls. A
 * snapshot follows the blocks of its time, except the kinds in `BEFORE_BLOCKS`. Chains and prices precede all other
 * facts.
 */
export interface Fact {
  /** Its position in the input. */
  readonly order: number;
  readonly kind: 'chain' | 'price' | 'event' | 'call' | 'snapshot';
  readonly chain: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
  /** Null for a snapshot. */
  readonly number: number | null;
  readonly extrinsic_index: number | null;
  /** Order in the block: 0 for the initialization, from 1 on for extrinsics, the highest for the finalization. */
  readonly place: number;
  /** `pallet.Event`, `pallet.call`, the kind of a snapshot, the symbol of a price. */
  readonly name: string;
  /** Fields of an event; arguments of a call or payload of a snapshot as one JSON text. */
  readonly data: readonly string[];
  /** Key of the account on whose behalf a call was executed; empty for root and if it is unknown. */
  readonly actor: string;
  /** True if the decoder refused the event. */
  readonly refused: boolean;
}

interface FactSelection {
  readonly events?: Sql;
  readonly calls?: Sql;
  readonly snapshots?: readonly string[];
  readonly prices?: boolean;
}

/** The chains of a relay chain, then its facts over all time. Conditions may use the columns of the raw tables. */
export const orderedFacts = (relayChain: string, selection: FactSelection): Sql =>
  inOrder([
    chainRows(relayChain),
    ...(selection.prices ? [priceRows(relayChain)] : []),
    ...factRows(relayChain, selection),
  ]);

/** The facts of a window, without chains and prices. */
export const factsOfWindow = (window: Window, selection: Omit<FactSelection, 'prices'>): Sql =>
  inOrder(factRows(relayOf(window), selection, window));

const factRows = (relayChain: string, { events, calls, snapshots }: FactSelection, window?: Window) => [
  ...(events ? [eventRows(relayChain, events, window)] : []),
  ...(calls ? [callRows(relayChain, calls, window)] : []),
  ...(snapshots ? [snapshotRows(relayChain, snapshots, window)] : []),
];

/** Kinds of snapshots that precede the blocks of their time, because these already use the new state. */
const BEFORE_BLOCKS: readonly SnapshotKind[] = ['child_bounty_ids'];

const inOrder = (parts: readonly Sql[]): Sql => sql`SELECT
      row_number() OVER (ORDER BY at, kind = 'snapshot' AND name NOT IN ${BEFORE_BLOCKS}, chain_name,
        number NULLS FIRST, place, kind = 'call', position) AS "order",
      kind, chain_name AS chain, at, number, extrinsic_index, place, name, data, actor, refused
    FROM (${join(parts, ' UNION ALL ')}) ORDER BY "order"`;

const BEFORE_ALL_BLOCKS = raw('toInt64(-1) AS at');
const NO_BLOCK = raw(
  "CAST(NULL, 'Nullable(UInt64)') AS number, CAST(NULL, 'Nullable(UInt32)') AS extrinsic_index, toUInt64(0) AS place, toUInt32(0) AS position",
);
const NO_ACTOR = raw("'' AS actor, false AS refused");

const chainRows = (relayChain: string) => sql`
  SELECT 'chain' AS kind, chain AS chain_name, ${BEFORE_ALL_BLOCKS}, ${NO_BLOCK}, '' AS name,
    data, ${NO_ACTOR}
  FROM ${chainsOf(relayChain)}`;

const priceRows = (relayChain: string) => sql`
  SELECT 'price' AS kind, '' AS chain_name, ${BEFORE_ALL_BLOCKS}, ${NO_BLOCK}, toString(token) AS name,
    [toString(date), toString(assumeNotNull(price))] AS data, ${NO_ACTOR}
  FROM ${pricesOf(dateSql(FIRST_DAY), dateSql(LAST_DAY))}
  WHERE token IN (SELECT token FROM ${chains} FINAL WHERE relay_chain = ${relayChain})`;

const eventRows = (relayChain: string, where: Sql, window?: Window) => sql`
  SELECT 'event' AS kind, toString(chain) AS chain_name, toUnixTimestamp64Milli(time) AS at,
    toNullable(number) AS number, extrinsic_index,
    multiIf(phase = 'initialization', toUInt64(0), phase = 'finalization', toUInt64(4294967296),
      toUInt64(assumeNotNull(extrinsic_index)) + 1) AS place,
    event_index AS position, concat(pallet, '.', event) AS name, data, '' AS actor, refused != '' AS refused
  FROM ${canonicalFacts(events, window ?? { relays: [relayChain] }, where)}`;

const callRows = (relayChain: string, where: Sql, window?: Window) => sql`
  SELECT 'call' AS kind, toString(chain) AS chain_name, toUnixTimestamp64Milli(time) AS at,
    toNullable(number) AS number, toNullable(extrinsic_index) AS extrinsic_index,
    toUInt64(assumeNotNull(extrinsic_index)) + 1 AS place, position, concat(pallet, '.', call) AS name,
    [args] AS data, if(actor = '', '', concat('0x', lower(hex(actor)))) AS actor, false AS refused
  FROM ${canonicalFacts(calls, window ?? { relays: [relayChain] }, where)}`;

const snapshotRows = (relayChain: string, kinds: readonly string[], window?: Window) => sql`
  SELECT 'snapshot' AS kind, toString(chain) AS chain_name, toUnixTimestamp64Milli(as_of) AS at, ${NO_BLOCK},
    toString(snapshots.kind) AS name, [payload] AS data, ${NO_ACTOR}
  FROM ${snapshots} FINAL WHERE relay_chain = ${relayChain} AND snapshots.kind IN ${kinds} AND ${window ? within(window, raw('as_of')) : raw('1')}`;

/** The time and place of a fact. */
export type Moment = Pick<Fact, 'order' | 'at' | 'chain' | 'number' | 'extrinsic_index' | 'place'>;

/** Groups facts by extrinsic; a fact outside of extrinsics is a group of its own. */
export function* groupByExtrinsic(facts: Iterable<Fact>): Generator<Fact[]> {
  let group: Fact[] = [];
  for (const fact of facts) {
    const [first] = group;
    const isSame =
      first !== undefined &&
      fact.extrinsic_index !== null &&
      fact.extrinsic_index === first.extrinsic_index &&
      fact.number === first.number &&
      fact.chain === first.chain;
    if (isSame) group.push(fact);
    else {
      if (first) yield group;
      group = [fact];
    }
  }
  if (group.length > 0) yield group;
}

export const isoTimeOf = (at: number): string => new Date(at).toISOString();

/** `<block>-<extrinsic>`; null outside of extrinsics. */
export function extrinsicId({
  number,
  extrinsic_index,
}: Pick<Fact, 'number' | 'extrinsic_index'>): string | null {
  return number === null || extrinsic_index === null ? null : `${number}-${extrinsic_index}`;
}

/** Reads an index or id from digits or a JSON integer. */
export function parseIndex(value: unknown): number | null {
  const index = parseAmount(value);
  return index !== null && index <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(index) : null;
}

/** Parses the JSON in a field of an event or in the arguments of a call; undefined when it is not JSON. */
export function parseNested(text: string | undefined): unknown {
  try {
    return text === undefined || text === '' ? undefined : parseExact(text);
  } catch {
    // The decoder of the block has recorded what it could not read.
    return undefined;
  }
}

/** The account key in a field of an event. */
export function accountKeyOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  return keyOf(text.startsWith('{') ? parseNested(text) : text);
}

export type JsonFields = Readonly<Record<string, unknown>>;

export function asFields(value: unknown): JsonFields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as JsonFields) : {};
}

/** Reads a variant of a Rust enum from any JSON form, such as `"None"` or `{"locked1x":null}`. Its name is in lowerCamel. */
export function variantOf(value: unknown): { name: string; value: unknown } | null {
  if (typeof value === 'string' && value !== '') return { name: lowerFirst(value), value: null };
  const entries = Object.entries(asFields(value));
  const [only] = entries;
  return entries.length === 1 && only ? { name: lowerFirst(only[0]), value: only[1] } : null;
}

const lowerFirst = (text: string) => text.charAt(0).toLowerCase() + text.slice(1);
