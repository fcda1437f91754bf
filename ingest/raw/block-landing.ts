import { raw, sql } from '../../infra/sql.ts';
import { landingTable, view } from '../../infra/table.ts';
import {
  EVENTS_MISSING,
  EXTRINSICS_MISSING,
  OUTCOME_EVENTS,
  OUTCOME_PALLETS,
} from '../decode/completeness.ts';
import { EARLIEST_MS, LATEST_MS } from '../decode/years.ts';
import { blockRankSql, RANK } from './ordering.ts';
import { inSteps } from './parse-sql.ts';

const METHOD = 'Tuple(pallet String, method String)';
const EVENT = `Tuple(method ${METHOD}, data Array(String))`;
/** A boolean counts; any other value, such as `"true"` or 1, means that the source did not know. */
export const SUCCESS = 'Dynamic(max_types=3)';
const EXTRINSIC = `Tuple(method ${METHOD}, signature Tuple(signer String), nonce String, args String, tip String, hash String, info Tuple(partialFee String, kind String), success ${SUCCESS}, paysFee String, events Array(${EVENT}))`;

/**
 * Whole blocks, one line each: the source's JSON in `payload`, and the facts that only TypeScript can decode. ClickHouse
 * parses a line once by these types; each view makes the rows of one table.
 */
export const blocksIn = landingTable({
  name: 'blocks_in',
  doc: 'Blocks of nodes and of Sidecar as JSON, beside the facts that TypeScript decoded.',
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
    wrappers: 'Array(Tuple(extrinsic_index UInt32, path String, pallet String, call String, calls UInt32))',
    domains: 'Array(Tuple(extrinsic_index UInt32, domain String))',
    senders: 'Array(Tuple(extrinsic_index UInt32, sender String, receiver String))',
    refused: 'Array(Tuple(fact String, reason String, raw String))',
    payload: `Tuple(number UInt64, hash String, parentHash String, authorId String, finalized String, onInitialize Tuple(events Array(${EVENT})), extrinsics Array(${EXTRINSIC}), onFinalize Tuple(events Array(${EVENT})))`,
  },
});

const pallets = 'payload.extrinsics.method.pallet';
/** Position of the extrinsic that sets the time of the block, from 1; 0 if there is none. */
export const timestampAt = `arrayFirstIndex((p, m) -> lower(p) = 'timestamp' AND m = 'set', ${pallets}, payload.extrinsics.method.method)`;
export const timestampGiven = `JSONExtractRaw(payload.extrinsics.args[${timestampAt}], 'now')`;
const milliseconds = `toInt64OrNull(replaceAll(${timestampGiven}, '"', ''))`;
const isTime = `${milliseconds} BETWEEN ${EARLIEST_MS} AND ${LATEST_MS}`;
const finalized = "payload.finalized != 'false'";

const quoted = (names: readonly string[]) => names.map((name) => `'${name}'`).join(', ');
const isOutcome = `p IN (${quoted(OUTCOME_PALLETS)}) AND m IN (${quoted(OUTCOME_EVENTS)})`;
/** The names of the outcome events of each extrinsic. */
const outcomes = `arrayMap((ms, ps) -> arrayFilter((m, p) -> ${isOutcome}, ms, ps), payload.extrinsics.events.method.method, payload.extrinsics.events.method.pallet)`;
/** Whether an extrinsic has a string as `success`. The engine reads some strings as dates. */
const saysText = `arrayExists(s -> match(dynamicType(s), '^(String|Date)'), payload.extrinsics.success)`;
/** An incomplete block fails the statement. The loader then parses each line and refuses the incomplete blocks. */
const isRefused = `throwIf(payload.number > 0 AND empty(payload.extrinsics), '${EXTRINSICS_MISSING}')
    OR throwIf(notEmpty(outcomes) AND (empty(arrayFlatten(outcomes)) OR ${saysText}), '${EVENTS_MISSING}')`;

/** Computes time, rank and outcomes once for the rows of all tables. The other columns are passed on without a copy. */
export const blocksRanked = landingTable({
  name: 'blocks_ranked',
  doc: 'The blocks beside their time and rank.',
  columns: {
    ...blocksIn.columns,
    relay_chain: 'LowCardinality(String)',
    chain: 'LowCardinality(String)',
    number: 'UInt64',
    block_time: "Nullable(DateTime64(3, 'UTC'))",
    finalized: 'Bool',
    outcomes: 'Array(Array(String))',
    rank: RANK,
  },
});

const { relay_chain: _relay, chain: _chain, ...passedOn } = blocksIn.columns;

export const rankedBlocks = view(
  'blocks_in_to_ranked',
  blocksIn,
  blocksRanked,
  sql`SELECT toLowCardinality(relay_chain) AS relay_chain, toLowCardinality(chain) AS chain, payload.number AS number,
    fromUnixTimestamp64Milli(if(${raw(isTime)}, ${raw(milliseconds)}, NULL), 'UTC') AS block_time, ${raw(finalized)} AS finalized, outcomes,
    ${raw(blockRankSql({ finalized, version: 'version', sequence: 'sequence' }))} AS rank,
    ${raw(Object.keys(passedOn).join(', '))}
  FROM ${inSteps(sql`${blocksIn}`, `${outcomes} AS outcomes`)} WHERE is_deleted = 1 OR NOT (${raw(isRefused)})`,
);

/**
 * Columns that every row of a block repeats. `time` is the epoch if the block has no timestamp: no window contains such
 * rows, so they count only through their block.
 */
export const everyRow = `relay_chain, chain, number, ifNull(block_time, toDateTime64(0, 3, 'UTC')) AS time, rank`;
export const everyRowColumns = {
  relay_chain: 'LowCardinality(String)',
  chain: 'LowCardinality(String)',
  number: 'UInt64',
  time: "DateTime64(3, 'UTC')",
  rank: RANK,
};
