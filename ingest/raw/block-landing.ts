import { landingTable } from '../../infra/clickhouse/table.ts';
import { blockRankSql, RANK } from './ordering.ts';

const EVENT = 'Tuple(method Tuple(pallet String, method String), data Array(String))';
const EXTRINSIC = `Tuple(method Tuple(pallet String, method String), signature Tuple(signer String), args String, tip String, hash String, info Tuple(partialFee String, kind String), success String, paysFee String, events Array(${EVENT}))`;

/**
 * Whole blocks: one line per block, the source's own JSON in `payload`, and beside it what only TypeScript can decode.
 * ClickHouse parses a line once by these types; each view makes the rows of one table.
 */
export const blocksIn = landingTable({
  name: 'blocks_in',
  doc: 'Sidecar blocks in their envelope.',
  columns: {
    sequence: 'UInt64',
    relay_chain: 'String',
    chain: 'String',
    prefix: 'UInt16',
    version: 'String',
    is_deleted: 'UInt8',
    source: 'String',
    run: 'String',
    calls:
      'Array(Tuple(extrinsic_index UInt32, position UInt32, path String, pallet String, call String, actor String, args String))',
    domains: 'Array(Tuple(extrinsic_index UInt32, domain String))',
    senders: 'Array(Tuple(extrinsic_index UInt32, sender String, receiver String))',
    refused: 'Array(Tuple(fact String, reason String, raw String))',
    payload: `Tuple(number UInt64, hash String, parentHash String, authorId String, finalized String, onInitialize Tuple(events Array(${EVENT})), extrinsics Array(${EXTRINSIC}), onFinalize Tuple(events Array(${EVENT})))`,
  },
});

const number = 'payload.number';
export const finalized = "payload.finalized != 'false'";
export const rank = blockRankSql({ finalized, version: 'version', sequence: 'sequence' });

const pallets = 'payload.extrinsics.method.pallet';
const timestampArgs = `payload.extrinsics.args[arrayFirstIndex((p, m) -> lower(p) = 'timestamp' AND m = 'set', ${pallets}, payload.extrinsics.method.method)]`;
const milliseconds = `toInt64OrNull(replaceAll(JSONExtractRaw(${timestampArgs}, 'now'), '"', ''))`;
export const blockTime = `fromUnixTimestamp64Milli(${milliseconds}, 'UTC')`;
/** The epoch stands for "no timestamp" in rows that count only through their block. */
const rowTime = `ifNull(${blockTime}, toDateTime64(0, 3, 'UTC'))`;

export const identity = `relay_chain, chain, ${number} AS number`;

/** Columns that every row of a block repeats, computed once per block before its rows are unfolded. */
export const everyRow = `toLowCardinality(relay_chain) AS relay_chain, toLowCardinality(chain) AS chain, ${number} AS number,
    ${rowTime} AS time, ${rank} AS rank`;
export const everyRowColumns = {
  relay_chain: 'LowCardinality(String)',
  chain: 'LowCardinality(String)',
  number: 'UInt64',
  time: "DateTime64(3, 'UTC')",
  rank: RANK,
};
