import { raw, type Sql, sql } from '../../infra/kernel/sql.ts';
import { livingFacts, type Window } from '../../ingest/streams/living.ts';
import { calls, chains, events, extrinsics } from '../../ingest/streams/raw.ts';

/**
 * What is known of extrinsics that had to do with contracts, by chain, height and place in the block: the extrinsic
 * itself, its executed contract calls in order, its contract events, and how it ended. Contract events outside of
 * extrinsics stand alone.
 */
export interface ContractFact {
  readonly kind: 'extrinsic' | 'call' | 'event' | 'result';
  readonly chain: string;
  readonly decimals: number;
  readonly prefix: number;
  readonly number: number;
  /** 0 for the opening of a block, then its extrinsics from 1, then its end. */
  readonly place: number;
  readonly extrinsic_index: number | null;
  readonly time: string;
  /** Of the call or the event. */
  readonly name: string;
  /** Position of a call, index of an event. */
  readonly at: number;
  /** Keys in hex: signer, actor, or the two accounts of an event; empty when there is none. */
  readonly account: string;
  readonly counterparty: string;
  readonly fields: Readonly<Record<string, string>>;
}

const CONTRACT_EVENTS = ['Instantiated', 'ContractEmitted', 'EthExtrinsicRevert'];
const unquoted = (name: string) => `replaceAll(JSONExtractRaw(args, '${name}'), '"', '')`;

/** Arguments of a contract call without its code and input, which may be large. */
const callFields = raw(`map(
    'dest', JSONExtractString(args, 'dest'), 'value', ${unquoted('value')},
    'weight_limit', concat(JSONExtractRaw(args, 'weight_limit'), JSONExtractRaw(args, 'gas_limit')),
    'storage_deposit_limit', ${unquoted('storage_deposit_limit')}, 'code_hash', JSONExtractString(args, 'code_hash'),
    'gas_price', ${unquoted('effective_gas_price')},
    'payload', concat(JSONExtractString(args, 'payload'), JSONExtractString(args, 'transaction_encoded')),
    'input_start', substring(JSONExtractString(args, 'data'), 1, 10),
    'input_chars', toString(length(JSONExtractString(args, 'data'))))`);

const NO_FIELDS = raw("CAST(map(), 'Map(String, String)')");

const keyText = (column: string) => raw(`if(${column} = '', '', concat('0x', lower(hex(${column}))))`);

export function contractFacts({ relay_chain, from, until }: Window): Sql {
  const within = sql`time >= toDateTime64(${from}, 3, 'UTC') AND time < toDateTime64(${until}, 3, 'UTC')`;
  const isCall = sql`${within} AND pallet = 'revive'`;
  const isEvent = sql`${within} AND pallet = 'revive' AND event IN ${CONTRACT_EVENTS} AND refused = ''`;
  const heights = sql`(
    SELECT relay_chain, chain, number FROM ${calls} WHERE relay_chain = ${relay_chain} AND ${isCall}
    UNION DISTINCT SELECT relay_chain, chain, number FROM ${extrinsics} WHERE relay_chain = ${relay_chain} AND ${isCall}
    UNION DISTINCT SELECT relay_chain, chain, number FROM ${events} WHERE relay_chain = ${relay_chain} AND ${isEvent})`;
  const isNear = sql`${within} AND (relay_chain, chain, number) IN ${heights}`;
  return sql`
    SELECT kind, toString(chain) AS chain, decimals, prefix, number, place, extrinsic_index, time, name, at, account,
      counterparty, fields
    FROM (
      SELECT 0 AS rising, 'extrinsic' AS kind, chain, number, toUInt64(extrinsic_index) + 1 AS place,
        toNullable(extrinsic_index) AS extrinsic_index, time, concat(pallet, '.', call) AS name, toUInt32(0) AS at,
        ${keyText('signer_key')} AS account, ${keyText('ethereum_from')} AS counterparty,
        mapConcat(map('hash', hash, 'fee', ifNull(toString(fee), ''), 'success', ifNull(toString(success), ''),
          'succeeded', ifNull(toString(succeeded), '')), if(pallet = 'revive', ${callFields}, ${NO_FIELDS})) AS fields
      FROM ${livingFacts(extrinsics, relay_chain, isNear)}
      UNION ALL
      SELECT 1 AS rising, 'call' AS kind, chain, number, toUInt64(extrinsic_index) + 1 AS place,
        toNullable(extrinsic_index) AS extrinsic_index, time, toString(call) AS name, position AS at,
        ${keyText('actor')} AS account, '' AS counterparty, ${callFields} AS fields
      FROM ${livingFacts(calls, relay_chain, isCall)}
      UNION ALL
      SELECT 2 AS rising, 'event' AS kind, chain, number,
        multiIf(phase = 'initialization', toUInt64(0), phase = 'finalization', toUInt64(4294967296),
          toUInt64(assumeNotNull(extrinsic_index)) + 1) AS place,
        extrinsic_index, time, toString(event) AS name, event_index AS at,
        ${keyText('account')} AS account, ${keyText('counterparty')} AS counterparty,
        if(event = 'EthExtrinsicRevert', map('error', data[1]), ${NO_FIELDS}) AS fields
      FROM ${livingFacts(events, relay_chain, isEvent)}
      UNION ALL
      SELECT 3 AS rising, 'result' AS kind, chain, number, toUInt64(assumeNotNull(extrinsic_index)) + 1 AS place,
        extrinsic_index, time, toString(event) AS name, event_index AS at, '' AS account, '' AS counterparty,
        if(event = 'ExtrinsicFailed', map('error', data[1], 'info', data[2]), map('info', data[1])) AS fields
      FROM ${livingFacts(
        events,
        relay_chain,
        sql`pallet = 'system' AND event IN ('ExtrinsicSuccess', 'ExtrinsicFailed') AND phase = 'extrinsic' AND ${isNear}`,
      )}
    ) AS facts
    INNER JOIN (SELECT chain, decimals, prefix FROM ${chains} FINAL WHERE relay_chain = ${relay_chain}) AS registry
      USING (chain)
    ORDER BY chain, number, place, rising, at`;
}
