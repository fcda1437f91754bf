import { raw, type Sql, sql } from '../../../../infra/sql.ts';
import {
  canonicalBlocks,
  invalidatedBy,
  ofPallets,
  ofRelays,
  type Window,
} from '../../../../ingest/raw/canonical.ts';
import { calls, chains, events, extrinsics } from '../../../../ingest/raw/tables.ts';

/**
 * The input of the contract folds, sorted by relay chain, chain, height and place. Each extrinsic with contract calls or
 * events is followed by its executed contract calls, its contract events and its result. Contract events outside of
 * extrinsics stand alone.
 */
export interface ContractFact {
  readonly relay_chain: string;
  readonly kind: 'extrinsic' | 'call' | 'event' | 'result';
  readonly chain: string;
  readonly decimals: number;
  readonly prefix: number;
  readonly number: number;
  /** 0 for the initialization of a block, then its extrinsics from 1, then its finalization. */
  readonly place: number;
  readonly extrinsic_index: number | null;
  readonly time: string;
  /** The name of the call or event. */
  readonly name: string;
  /** The position of a call, or the index of an event. */
  readonly at: number;
  /** Keys in hex: signer, actor, or the two accounts of an event; empty when there is none. */
  readonly account: string;
  readonly counterparty: string;
  readonly fields: Readonly<Record<string, string>>;
}

const unquoted = (name: string) => `replaceAll(JSONExtractRaw(args, '${name}'), '"', '')`;

/** Arguments of a contract call, without its code and input, which may be large. */
const callFields = raw(`map(
    'dest', JSONExtractString(args, 'dest'), 'value', ${unquoted('value')},
    'weight_limit', JSONExtractRaw(args, if(JSONHas(args, 'weight_limit'), 'weight_limit', 'gas_limit')),
    'storage_deposit_limit', ${unquoted('storage_deposit_limit')}, 'code_hash', JSONExtractString(args, 'code_hash'),
    'gas_price', ${unquoted('effective_gas_price')},
    'payload', concat(JSONExtractString(args, 'payload'), JSONExtractString(args, 'transaction_encoded')),
    'input_start', substring(JSONExtractString(args, 'data'), 1, 10),
    'input_chars', toString(length(JSONExtractString(args, 'data'))))`);

const NO_FIELDS = raw("CAST(map(), 'Map(String, String)')");

const keyText = (column: string) => raw(`if(${column} = '', '', concat('0x', lower(hex(${column}))))`);

const within = ({ from, until }: Window) =>
  sql`time >= toDateTime64(${from}, 3, 'UTC') AND time < toDateTime64(${until}, 3, 'UTC')`;
const isOfPallet = (window: Window) =>
  sql`${ofRelays(window)} AND ${ofPallets('revive')} AND ${within(window)}`;
const isOneOf = (window: Window, names: readonly string[]) =>
  sql`${isOfPallet(window)} AND event IN ${names} AND refused = ''`;

const HEIGHT = raw('relay_chain, chain, number');
const PLACE = raw('relay_chain, chain, number, assumeNotNull(extrinsic_index) AS extrinsic_index');

/** Facts of extrinsics with contract calls or events, and of failed extrinsics of the pallet, which have neither. */
export function contractFacts(window: Window): Sql {
  const names = ['Instantiated', 'ContractEmitted', 'EthExtrinsicRevert'];
  const rows = (columns: Sql, ofEvents: Sql) => sql`
    SELECT ${columns} FROM ${calls} WHERE ${isOfPallet(window)}
    UNION DISTINCT SELECT ${columns} FROM ${extrinsics} WHERE ${isOfPallet(window)}
    UNION DISTINCT SELECT ${columns} FROM ${events} WHERE ${ofEvents}`;
  return factsOf(window, names, rows);
}

/** Facts of extrinsics that created contracts, and of creations outside of extrinsics. */
export const creationFacts = (window: Window): Sql =>
  factsOf(
    window,
    ['Instantiated'],
    (columns, ofEvents) => sql`SELECT ${columns} FROM ${events} WHERE ${ofEvents}`,
  );

/**
 * Facts of the extrinsics that `rows` selects, and of these events. The conditions that all parts share stand once,
 * after the union: the engine pushes them into each part and plans their subqueries once. Parts with far more rows also
 * filter by height, so that the engine can skip granules.
 */
function factsOf(window: Window, names: readonly string[], rows: (columns: Sql, ofEvents: Sql) => Sql): Sql {
  const isOfEvents = isOneOf(window, names);
  const heights = rows(HEIGHT, isOfEvents);
  const isInTime = sql`${ofRelays(window)} AND ${within(window)}`;
  const isOfHeights = sql`(${HEIGHT}) IN (${heights})`;
  const places = rows(PLACE, sql`${isOfEvents} AND phase = 'extrinsic'`);
  const ofPallet = (part: Sql) => invalidatedBy(isOfPallet(window), part);
  const parts = ofPallet(sql`
      SELECT 0 AS rising, 'extrinsic' AS kind, relay_chain, chain, number, toUInt64(extrinsic_index) + 1 AS place,
        toNullable(extrinsic_index) AS extrinsic_index, time, concat(pallet, '.', call) AS name, toUInt32(0) AS at,
        ${keyText('signer_key')} AS account, ${keyText('ethereum_from')} AS counterparty,
        mapConcat(map('hash', hash, 'fee', ifNull(toString(fee), ''), 'success', ifNull(toString(success), ''),
          'succeeded', ifNull(toString(succeeded), '')), if(pallet = 'revive', ${callFields}, ${NO_FIELDS})) AS fields, rank
      FROM ${extrinsics} WHERE ${isInTime} AND ${isOfHeights}
      UNION ALL
      SELECT 1 AS rising, 'call' AS kind, relay_chain, chain, number, toUInt64(extrinsic_index) + 1 AS place,
        toNullable(extrinsic_index) AS extrinsic_index, time, toString(call) AS name, position AS at,
        ${keyText('actor')} AS account, '' AS counterparty, ${callFields} AS fields, rank
      FROM ${calls} WHERE ${isOfPallet(window)}
      UNION ALL
      SELECT 2 AS rising, 'event' AS kind, relay_chain, chain, number,
        multiIf(phase = 'initialization', toUInt64(0), phase = 'finalization', toUInt64(4294967296),
          toUInt64(assumeNotNull(extrinsic_index)) + 1) AS place,
        extrinsic_index, time, toString(event) AS name, event_index AS at,
        ${keyText('account')} AS account, ${keyText('counterparty')} AS counterparty,
        if(event = 'EthExtrinsicRevert', map('error', data[1]), ${NO_FIELDS}) AS fields, rank
      FROM ${events} WHERE ${isOfEvents}
      UNION ALL
      SELECT 3 AS rising, 'result' AS kind, relay_chain, chain, number, toUInt64(assumeNotNull(extrinsic_index)) + 1 AS place,
        extrinsic_index, time, toString(event) AS name, event_index AS at, '' AS account, '' AS counterparty,
        if(event = 'ExtrinsicFailed', map('error', data[1], 'info', data[2]), map('info', data[1])) AS fields, rank
      FROM ${events} WHERE ${isInTime} AND pallet = 'system' AND event IN ('ExtrinsicSuccess', 'ExtrinsicFailed')
        AND phase = 'extrinsic' AND ${isOfHeights}`);
  const isTheirs = ofPallet(sql`rank IN ${canonicalBlocks(window, 'rank', isOfHeights)}
      AND (rising = 2 OR (relay_chain, chain, number, assumeNotNull(extrinsic_index)) IN (${places}))`);
  return sql`
    SELECT toString(relay_chain) AS relay_chain, kind, toString(chain) AS chain, decimals, prefix, number, place, extrinsic_index, time, name, at, account,
      counterparty, fields
    FROM (${parts}
    ) AS facts
    INNER JOIN (SELECT relay_chain, chain, decimals, prefix FROM ${chains} FINAL WHERE ${ofRelays(window)}) AS registry
      USING (relay_chain, chain)
    WHERE ${isTheirs}
    ORDER BY relay_chain, chain, number, place, rising, at`;
}
