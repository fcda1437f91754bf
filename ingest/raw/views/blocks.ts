import { raw, sql } from '../../../infra/sql.ts';
import { view } from '../../../infra/table.ts';
import { FACT_CALLS, FACT_PALLETS } from '../../decode/fact-calls.ts';
import { YEARS } from '../../decode/years.ts';
import {
  blocksIn,
  blocksRanked,
  everyRow,
  rankedBlocks,
  timestampAt,
  timestampGiven,
} from '../block-landing.ts';
import { hourSql } from '../canonical.ts';
import { readAtSql } from '../ordering.ts';
import { NO_PREFIX, palletSql, palletWrittenSql, prefixSql } from '../parse-sql.ts';
import {
  addressEncodingsDue,
  blocks,
  calls,
  dirtyDays,
  dirtyHours,
  extrinsics,
  refusedFacts,
} from '../tables.ts';
import { unknownWrappers } from '../unknown-wrappers.ts';
import { UNTIMED } from '../untimed.ts';
import { eventLandingTables, eventViews } from './event-rows.ts';
import { extrinsicLandingTables, extrinsicsDecoded, extrinsicViews } from './extrinsic-rows.ts';
import { checkingViews, eventsToCheck } from './nested-parts.ts';

const blockRows = view(
  'ranked_to_blocks',
  blocksRanked,
  blocks,
  sql`SELECT relay_chain, chain, number, lower(payload.hash) AS hash, lower(payload.parentHash) AS parent_hash,
    block_time AS time, payload.authorId AS author, finalized, length(payload.extrinsics) AS extrinsics,
    length(payload.onInitialize.events) + arraySum(arrayMap(e -> length(e), payload.extrinsics.events))
      + length(payload.onFinalize.events) AS events,
    arrayCount(of -> length(of) != 1, outcomes) AS unclear_extrinsics,
    source, ${raw(readAtSql('sequence'))} AS received_at, rank, is_deleted, run
  FROM ${blocksRanked}`,
);

/** The calls of a block, and the columns that all their rows repeat. Otherwise ARRAY JOIN would copy the payload per row. */
const unfoldedCalls = sql`(SELECT ${raw(everyRow)}, calls FROM ${blocksRanked} WHERE is_deleted = 0)`;

const quoted = (names: readonly string[]) => raw(names.map((name) => `'${name}'`).join(', '));
const holdsFacts = sql`(pallet IN (${quoted(FACT_PALLETS)}) OR concat(pallet, '.', call) IN (${quoted(FACT_CALLS)}))`;

const topCallRows = view(
  'extrinsics_to_calls',
  extrinsics,
  calls,
  sql`SELECT relay_chain, chain, number, extrinsic_index, 0 AS position, '' AS path, time, pallet, call,
    signer_key AS actor, args, rank
  FROM ${extrinsics} WHERE success = 1 AND ${holdsFacts}`,
);

const nestedCallRows = view(
  'ranked_to_calls',
  blocksRanked,
  calls,
  sql`SELECT relay_chain, chain, number, c.extrinsic_index AS extrinsic_index, c.position AS position, c.path AS path,
    time, c.pallet AS pallet, c.call AS call, unhex(substring(c.actor, 3)) AS actor, c.args AS args, rank
  FROM ${unfoldedCalls} ARRAY JOIN calls AS c WHERE ${holdsFacts}`,
);

const unknownWrapperRows = view(
  'ranked_to_unknown_wrappers',
  blocksRanked,
  unknownWrappers,
  sql`SELECT relay_chain, chain, number, w.extrinsic_index AS extrinsic_index, w.path AS path, w.pallet AS pallet,
    w.call AS call, w.calls AS calls, rank
  FROM (SELECT relay_chain, chain, number, rank, wrappers FROM ${blocksRanked} WHERE is_deleted = 0)
  ARRAY JOIN wrappers AS w`,
);

const refusedTime = sql`tuple(concat('extrinsic ', toString(at - 1), ' now'),
    ${`not milliseconds from ${YEARS.from} to ${YEARS.until - 1}`}, substring(${raw(timestampGiven)}, 1, 100))`;

/** Facts that TypeScript refused, and invalid times. */
const refusedCallRows = view(
  'ranked_to_refused_facts',
  blocksRanked,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, r.1 AS fact, r.2 AS reason, r.3 AS raw, rank
  FROM (SELECT ${raw(everyRow)}, ${raw(timestampAt)} AS at,
      arrayConcat(refused, if(isNull(block_time) AND at > 0 AND ${raw(timestampGiven)} NOT IN ('', 'null'), [${refusedTime}], [])) AS all_refused
    FROM ${blocksRanked} WHERE is_deleted = 0)
  ARRAY JOIN all_refused AS r`,
);

const NOT_WHOLE = 'not an unsigned integer';

/** Signers that are not an address, and tips and fees that are not an unsigned integer. */
const refusedExtrinsicRows = view(
  'decoded_to_refused_facts',
  extrinsicsDecoded,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('extrinsic ', toString(extrinsic_index), ' ', name) AS fact, reason, text AS raw, rank
  FROM (SELECT *, signed AND signer_key = '' AS bad_signer, tip_given != '' AND isNull(tip_amount) AS bad_tip,
      fee_given != '' AND isNull(fee_amount) AS bad_fee
    FROM ${extrinsicsDecoded} WHERE bad_signer OR bad_tip OR bad_fee)
  ARRAY JOIN ['signer', 'tip', 'info.partialFee'] AS name, ['not an address', ${NOT_WHOLE}, ${NOT_WHOLE}] AS reason,
    [signer, tip_given, fee_given] AS text, [bad_signer, bad_tip, bad_fee] AS is_bad
  WHERE is_bad`,
);

/** Dirty days, also by pallet, so that only blocks with certain pallets invalidate a metric that reads few pallets. */
const dirtyDayRows = view(
  'ranked_to_dirty_days',
  blocksRanked,
  dirtyDays,
  sql`SELECT DISTINCT if(untimed, ${UNTIMED}, 'blocks') AS stream,
    arrayJoin(arrayConcat([''], arrayMap(p -> ${raw(palletSql(palletWrittenSql('p')))}, if(untimed, [], written)))) AS pallet,
    relay_chain, chain, ifNull(block_day, toDate(0)) AS day, newest AS sequence
  FROM (
    SELECT relay_chain, chain, toDate(block_time) AS block_day, isNull(block_day) AS untimed, max(sequence) AS newest,
      groupUniqArrayArray(arrayConcat(payload.extrinsics.method.pallet, calls.pallet,
        payload.onInitialize.events.method.pallet, arrayFlatten(payload.extrinsics.events.method.pallet),
        payload.onFinalize.events.method.pallet)) AS written
    FROM ${blocksRanked} GROUP BY relay_chain, chain, block_day
  )`,
);

const dirtyHourRows = view(
  'ranked_to_dirty_hours',
  blocksRanked,
  dirtyHours,
  sql`SELECT '' AS pallet, relay_chain, chain, ${hourSql('assumeNotNull(block_time)')} AS hour, max(ranked.sequence) AS sequence
  FROM ${blocksRanked} AS ranked WHERE isNotNull(block_time) GROUP BY relay_chain, chain, hour`,
);

const addressEncodingRows = view(
  'decoded_to_address_encodings_due',
  extrinsicsDecoded,
  addressEncodingsDue,
  sql`SELECT DISTINCT signer_key AS key, prefix FROM ${extrinsicsDecoded}
  WHERE prefix != ${NO_PREFIX} AND length(signer_key) = 32 AND ${raw(prefixSql('signer', 'signer_bytes'))} != prefix`,
);

export const blockLandingTables = [
  blocksIn,
  blocksRanked,
  ...extrinsicLandingTables,
  ...eventLandingTables,
  eventsToCheck,
];

export const blockViews = [
  rankedBlocks,
  blockRows,
  ...extrinsicViews,
  ...eventViews,
  topCallRows,
  nestedCallRows,
  unknownWrapperRows,
  ...checkingViews,
  refusedCallRows,
  refusedExtrinsicRows,
  dirtyDayRows,
  dirtyHourRows,
  addressEncodingRows,
];
