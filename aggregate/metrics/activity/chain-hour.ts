import { join, raw, type Sql, sql } from '../../../infra/sql.ts';
import {
  canonicalBlocks,
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  hourSql,
  type Window,
} from '../../../ingest/raw/canonical.ts';
import { fieldSql } from '../../../ingest/raw/views/event-facts.ts';
import { clickhouseType, count, name, timestamp, widePlanck } from '../../columns.ts';
import { type MaterializedMetric, metric } from '../../metric.ts';

/** Counts and amounts that add up over the hours of a day. */
export const SUMS = {
  num_blocks: count('blocks with a timestamp'),
  num_extrinsics: count('extrinsics, inherents included'),
  num_events: count('events of all phases'),
  num_transactions_signed: count('signed extrinsics, successful or not'),
  evm_num_transactions: count('Ethereum transactions, successful or not'),
  num_transactions_combined: count('signed, Ethereum and general transactions, successful or not'),
  fees: widePlanck('fees paid'),
  tips: widePlanck('tips of signed extrinsics and general transactions'),
  num_fee_paying: count('extrinsics with a fee above zero'),
  fee_known: count(
    'transactions, and other extrinsics with a fee event, whose fee is known; a fee of zero is known',
  ),
  fee_unknown: count('extrinsics whose fee is unknown'),
  treasury: widePlanck('sum of `treasury.Deposit`'),
  num_transfers: count('`balances.Transfer` events'),
  transferred: widePlanck('sum of `balances.Transfer`'),
  num_transfers_combined: count('`balances.Transfer` events and transfers of assets and tokens'),
  num_xcm_messages: count('XCM messages sent and received'),
  num_xcm_failed: count('XCM messages that failed'),
  num_xcm_transferred: count('executed XCM transfer and teleport calls, nested ones included'),
  num_new_accounts: count('`system.NewAccount` events'),
  num_killed_accounts: count('`system.KilledAccount` events'),
  num_remarked: count('`system.Remarked` events'),
  num_remark_calls: count('executed `system.remark` calls, nested ones included'),
  num_extrinsic_success: count('extrinsics whose only outcome event is `system.ExtrinsicSuccess`'),
  num_extrinsic_failed: count('extrinsics whose only outcome event is `system.ExtrinsicFailed`'),
  included_candidates: count('`paraInclusion.CandidateIncluded` events'),
} as const;

/** The first and the last block, by height and by time. */
export const ENDS = {
  first_block: count('lowest height'),
  last_block: count('highest height'),
  first_time: timestamp('time of the earliest block'),
  last_time: timestamp('time of the latest block'),
  earliest_block: count('height of the earliest block, the lowest of several'),
  latest_block: count('height of the latest block, the highest of several'),
} as const;

const HOUR = sql`${hourSql('assumeNotNull(time)')} AS hour`;
const MINUTES = 60;

/** Defaults of the columns that are not sums, for the parts that lack them. */
const PARTS = {
  is_of_blocks: '0',
  first_block: 'toUInt64(0)',
  last_block: 'toUInt64(0)',
  first_time: "toDateTime64(0, 3, 'UTC')",
  last_time: "toDateTime64(0, 3, 'UTC')",
  earliest_block: 'toUInt64(0)',
  latest_block: 'toUInt64(0)',
  minutes: "CAST([], 'Array(UInt64)')",
  paras: "CAST([], 'Array(String)')",
  runs: "CAST([], 'Array(Tuple(UInt64, UInt64))')",
};
/** Sums that may need more than 64 bits, and the others. */
const WIDE = sumsOf((type) => type === 'UInt256');
const NARROW = sumsOf((type) => type !== 'UInt256');
function sumsOf(matches: (type: string) => boolean): (keyof Sums)[] {
  return (Object.keys(SUMS) as (keyof Sums)[]).filter((column) => matches(clickhouseType(SUMS[column])));
}
type Part = Partial<Record<keyof typeof PARTS, string>>;
type Sums = Partial<Record<keyof typeof SUMS, string>>;

/**
 * The columns of one part of an hour, in the order of all parts. All counts are one array, and parts are united instead
 * of joined, because the engine plans that faster.
 */
function partOf(sums: Sums, part: Part): Sql {
  const totals = NARROW.map((column) => sums[column] ?? '0');
  const wide = Object.fromEntries(WIDE.map((column) => [column, sums[column] ?? 'toUInt256(0)']));
  const others = Object.entries({ ...PARTS, ...wide, ...part }).map(
    ([column, expression]) => `${expression} AS ${column}`,
  );
  return raw(
    `relay_chain, chain, CAST([${totals.join(', ')}], 'Array(UInt64)') AS totals, ${others.join(', ')}`,
  );
}

const blockCounts = (window: Window): Sql => sql`
  SELECT ${HOUR}, ${partOf(
    { num_blocks: 'count()', num_extrinsics: 'sum(extrinsics)', num_events: 'sum(events)' },
    {
      is_of_blocks: '1',
      first_block: 'min(number)',
      last_block: 'max(number)',
      first_time: 'min(assumeNotNull(time))',
      last_time: 'max(assumeNotNull(time))',
      earliest_block: 'argMin(number, (assumeNotNull(time), number))',
      latest_block: 'argMax(number, (assumeNotNull(time), number))',
      runs: `arrayMap(run -> (run[1], run[-1]), arraySplit((height, step) -> step != 1,
      arraySort(groupArray(number)) AS heights, arrayDifference(heights)))`,
    },
  )}
  FROM ${canonicalBlocks(window)}
  GROUP BY relay_chain, chain, hour`;

const extrinsicCounts = (window: Window): Sql => sql`
  SELECT ${HOUR}, ${partOf(
    {
      num_transactions_signed: 'countIf(signed)',
      evm_num_transactions: 'countIf(ethereum)',
      num_transactions_combined: 'countIf(is_transaction)',
      fees: 'sum(toUInt256(ifNull(fee, 0)))',
      tips: 'sum(toUInt256(tip))',
      num_fee_paying: 'countIf(fee > 0)',
      fee_known: 'countIf(fee_bearing AND isNotNull(fee))',
      fee_unknown: 'countIf(isNull(fee))',
      num_extrinsic_success: 'countIf(outcome = 1)',
      num_extrinsic_failed: 'countIf(outcome = 0)',
    },
    {
      minutes: `arrayReduce('groupArrayInsertAt(0, ${MINUTES})',
      (sumMapIf([toUInt8(toMinute(time, 'UTC'))], [toUInt64(1)], is_transaction) AS by_minute).2, by_minute.1)`,
    },
  )}
  FROM (SELECT *, signed OR ethereum OR general AS is_transaction
    FROM ${canonicalExtrinsics(window)}) GROUP BY relay_chain, chain, hour`;

const eventCounts = (window: Window): Sql => sql`
  SELECT ${HOUR}, ${partOf(
    {
      treasury: "sumIf(toUInt256(ifNull(amount, 0)), pallet = 'treasury')",
      num_transfers: "countIf(pallet = 'balances')",
      transferred: "sumIf(toUInt256(ifNull(amount, 0)), pallet = 'balances')",
      num_transfers_combined: "countIf(event IN ('Transfer', 'Transferred'))",
      num_xcm_messages:
        "countIf(pallet IN ('xcmpQueue', 'dmpQueue', 'parachainSystem') OR event = 'Processed')",
      num_xcm_failed: `countIf((pallet = 'xcmpQueue' AND event = 'Fail') OR event = 'ProcessingFailed'
      OR (event = 'Processed' AND ${fieldSql('messageQueue.Processed', 'success', 'data')} = 'false'))`,
      num_new_accounts: "countIf(event = 'NewAccount')",
      num_killed_accounts: "countIf(event = 'KilledAccount')",
      num_remarked: "countIf(event = 'Remarked')",
      included_candidates: "countIf(event = 'CandidateIncluded')",
    },
    { paras: "groupUniqArrayIf(data[1], event = 'CandidateIncluded' AND data[1] != '')" },
  )}
  FROM ${canonicalEvents(
    window,
    sql`refused = '' AND (
      (pallet = 'balances' AND event = 'Transfer') OR (pallet = 'treasury' AND event = 'Deposit')
      OR (pallet IN ('assets', 'foreignAssets', 'poolAssets') AND event = 'Transferred')
      OR (pallet = 'tokens' AND event = 'Transfer')
      OR (pallet = 'xcmpQueue' AND event IN ('XcmpMessageSent', 'Success', 'Fail'))
      OR (pallet = 'parachainSystem' AND event = 'UpwardMessageSent')
      OR (pallet = 'dmpQueue' AND event = 'ExecutedDownward')
      OR (pallet = 'messageQueue' AND event IN ('Processed', 'ProcessingFailed'))
      OR (chain = relay_chain AND pallet = 'paraInclusion' AND event = 'CandidateIncluded')
      OR (pallet = 'system' AND event IN ('NewAccount', 'KilledAccount', 'Remarked')))`,
  )} GROUP BY relay_chain, chain, hour`;

/** Counts executed calls, nested calls included. */
const callCounts = (window: Window): Sql => sql`
  SELECT ${HOUR}, ${partOf(
    {
      num_xcm_transferred: "countIf(pallet != 'system')",
      num_remark_calls: "countIf(pallet = 'system')",
    },
    {},
  )}
  FROM ${canonicalCalls(
    window,
    sql`((pallet = 'system' AND call = 'remark')
      OR (pallet IN ('polkadotXcm', 'xcmPallet') AND call IN ('reserveTransferAssets', 'limitedReserveTransferAssets',
        'teleportAssets', 'limitedTeleportAssets', 'transferAssets', 'transferAssetsUsingTypeAndThen'))
      OR (pallet = 'xTokens' AND call IN ('transfer', 'transferMultiasset', 'transferWithFee',
        'transferMultiassetWithFee', 'transferMulticurrencies', 'transferMultiassets')))`,
  )} GROUP BY relay_chain, chain, hour`;

/** Combines the parts of an hour into its row. Only the part of blocks has the ends; the others have zeros. */
const HOUR_COLUMNS = {
  ...Object.fromEntries(NARROW.map((column, index) => [column, `totals[${index + 1}]`])),
  ...Object.fromEntries(WIDE.map((column) => [column, `sum(part.${column})`])),
  ...Object.fromEntries(Object.keys(ENDS).map((column) => [column, `max(part.${column})`])),
  minutes: 'sumForEach(part.minutes)',
  paras: 'arraySort(groupUniqArrayArray(part.paras))',
  runs: 'groupArrayArray(part.runs)',
};

/** Counts raw rows once for all daily metrics. No endpoint serves it. */
export const chainHour: MaterializedMetric = metric({
  record: 'ChainHour',
  title: 'Counts by hour',
  domain: 'activity',
  doc: 'Blocks, extrinsics, events and calls of one chain and UTC hour.',
  columns: {
    hour: timestamp('start of the UTC hour of the block timestamps'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    ...SUMS,
    ...ENDS,
  },
  internal: {
    // Transactions by minute; empty if the hour has none.
    minutes: 'Array(UInt64)',
    // Parachains of the included candidates, each once.
    paras: 'Array(String)',
    // First and last height of each run of consecutive blocks.
    runs: 'Array(Tuple(UInt64, UInt64))',
  },
  key: ['hour', 'relay_chain', 'chain'],
  materialized: 'hourly',
  select: (window) => sql`
    SELECT hour, relay_chain, chain, sumForEach(part.totals) AS totals,
      ${raw(
        Object.entries(HOUR_COLUMNS)
          .map(([column, expression]) => `${expression} AS ${column}`)
          .join(', '),
      )}
    FROM (${join(
      [blockCounts, extrinsicCounts, eventCounts, callCounts].map((counts) => counts(window)),
      ' UNION ALL ',
    )}) AS part
    GROUP BY hour, relay_chain, chain HAVING max(is_of_blocks) = 1`,
  endpoints: [],
});
