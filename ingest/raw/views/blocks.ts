import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { view } from '../../../infra/clickhouse/table.ts';
import { FACT_CALLS, FACT_PALLETS } from '../../decode/fact-calls.ts';
import { blocksIn, blockTime, everyRow, finalized, identity, rank } from '../block-landing.ts';
import { readAtSql } from '../ordering.ts';
import {
  addressEncodingsDue,
  blocks,
  calls,
  chains,
  dirtyDays,
  events,
  extrinsics,
  refusedFacts,
} from '../tables.ts';
import { eventRows, eventsIn, unfoldedEvents } from './event-rows.ts';
import { extrinsicRows, extrinsicsIn, unfoldedExtrinsics } from './extrinsic-rows.ts';
import { refusedArgumentRows, refusedEventRows } from './nested-amounts.ts';
import {
  addressSql,
  amountSql,
  keySql,
  NO_PREFIX,
  palletSql,
  palletWrittenSql,
  prefixSql,
} from './parse-sql.ts';

const blockRows = view(
  'blocks_to_blocks',
  blocksIn,
  blocks,
  sql`SELECT ${raw(identity)}, lower(payload.hash) AS hash, lower(payload.parentHash) AS parent_hash,
    ${raw(blockTime)} AS time, payload.authorId AS author, ${raw(finalized)} AS finalized,
    length(payload.extrinsics) AS extrinsics,
    length(payload.onInitialize.events) + arraySum(arrayMap(e -> length(e), payload.extrinsics.events))
      + length(payload.onFinalize.events) AS events,
    source, ${raw(readAtSql('sequence'))} AS received_at,
    ${raw(rank)} AS rank, is_deleted, run
  FROM ${blocksIn}`,
);

/** A list of the blocks beside what their rows repeat: unfolded with the whole payload, each row would copy it. */
const unfoldable = (list: 'calls' | 'refused') =>
  sql`(SELECT ${raw(everyRow)}, ${raw(list)} FROM ${blocksIn} WHERE is_deleted = 0)`;

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
  'blocks_to_calls',
  blocksIn,
  calls,
  sql`SELECT relay_chain, chain, number, c.extrinsic_index AS extrinsic_index, c.position AS position, c.path AS path,
    time, c.pallet AS pallet, c.call AS call, unhex(substring(c.actor, 3)) AS actor, c.args AS args, rank
  FROM ${unfoldable('calls')} ARRAY JOIN calls AS c WHERE ${holdsFacts}`,
);

const refusedCallRows = view(
  'blocks_to_refused_facts',
  blocksIn,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, r.fact AS fact, r.reason AS reason, r.raw AS raw, rank
  FROM ${unfoldable('refused')} ARRAY JOIN refused AS r`,
);

const refusedSignerRows = view(
  'extrinsics_to_refused_facts',
  extrinsics,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('extrinsic ', toString(extrinsic_index), ' signer') AS fact,
    'not an address' AS reason, signer AS raw, rank
  FROM ${extrinsics} WHERE signed AND signer_key = ''`,
);

/** Amounts outside events: a tip or fee that is no unsigned integer. */
const refusedAmountRows = view(
  'extrinsics_in_to_refused_facts',
  extrinsicsIn,
  refusedFacts,
  sql`SELECT relay_chain, chain, number, concat('extrinsic ', toString(extrinsic_index), ' ', name) AS fact,
    'not an unsigned integer' AS reason, text AS raw, rank
  FROM ${extrinsicsIn} ARRAY JOIN ['tip', 'info.partialFee'] AS name, [tip_given, fee_given] AS text
  WHERE text != '' AND isNull(${raw(amountSql('text'))})`,
);

/** Dirty days, also by pallet: a metric that reads few pallets is not invalidated by every block. */
const dirtyDayRows = view(
  'blocks_to_dirty_days',
  blocksIn,
  dirtyDays,
  sql`SELECT 'blocks' AS stream, arrayJoin(arrayConcat([''], arrayMap(p -> ${raw(palletSql(palletWrittenSql('p')))}, written))) AS pallet,
    relay_chain, chain, assumeNotNull(block_day) AS day, max(newest) AS sequence
  FROM (
    SELECT relay_chain, chain, toDate(${raw(blockTime)}) AS block_day, max(sequence) AS newest,
      groupUniqArrayArray(arrayConcat(payload.extrinsics.method.pallet, calls.pallet,
        payload.onInitialize.events.method.pallet, arrayFlatten(payload.extrinsics.events.method.pallet),
        payload.onFinalize.events.method.pallet)) AS written
    FROM ${blocksIn} GROUP BY relay_chain, chain, block_day
  ) WHERE isNotNull(block_day) GROUP BY pallet, relay_chain, chain, day`,
);

const addressEncodingRows = view(
  'extrinsics_in_to_address_encodings_due',
  extrinsicsIn,
  addressEncodingsDue,
  sql`SELECT DISTINCT ${raw(keySql('address'))} AS key, prefix
  FROM (SELECT prefix, ${raw(addressSql('signer_given'))} AS address
    FROM ${extrinsicsIn} WHERE prefix != ${NO_PREFIX} AND signer_given != '')
  WHERE ${raw(prefixSql('address'))} != prefix AND length(key) = 32`,
);

/** Accounts that are paid do not sign. */
const paidAddressEncodingRows = view(
  'events_to_address_encodings_due',
  events,
  addressEncodingsDue,
  sql`SELECT DISTINCT account AS key, prefix
  FROM ${events} AS paid INNER JOIN (SELECT chain, prefix FROM ${chains} FINAL) AS registry USING (chain)
  WHERE (pallet, event) IN (('staking', 'Rewarded'), ('nominationPools', 'PaidOut'))
    AND length(account) = 32 AND ${raw(prefixSql(addressSql('data[1]')))} != prefix`,
);

export const blockLandingTables = [blocksIn, extrinsicsIn, eventsIn];

export const blockViews = [
  blockRows,
  unfoldedExtrinsics,
  unfoldedEvents,
  extrinsicRows,
  eventRows,
  topCallRows,
  nestedCallRows,
  refusedEventRows,
  refusedArgumentRows,
  refusedCallRows,
  refusedSignerRows,
  refusedAmountRows,
  dirtyDayRows,
  addressEncodingRows,
  paidAddressEncodingRows,
];
