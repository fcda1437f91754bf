import { count, name, timestamp, widePlanck } from '../../../infra/clickhouse/columns.ts';
import { join, raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import {
  canonicalBlocks,
  canonicalCalls,
  canonicalEvents,
  canonicalExtrinsics,
  canonicalOfGained,
  type GainedBlocks,
  gainedRows,
  hourSql,
  isOfEnded,
  listOfGained,
  ofGainedChains,
  ofRelays,
  type Window,
  withNewRanks,
} from '../../../ingest/raw/canonical.ts';
import { blockSequenceSql } from '../../../ingest/raw/ordering.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { fieldSql } from '../../../ingest/raw/views/event-facts.ts';
import { type MaterializedMetric, metric } from '../../metric.ts';

/** Numbers of blocks, extrinsics, events and calls: those of a day are the sums of its hours. */
export const SUMS = {
  num_blocks: count('blocks with a timestamp'),
  num_extrinsics: count('extrinsics, inherents included'),
  num_events: count('events of all phases'),
  num_transactions_signed: count('signed extrinsics, successful or not'),
  evm_num_transactions: count('Ethereum transactions, successful or not'),
  fees: widePlanck('fees paid'),
  tips: widePlanck('tips of signed extrinsics'),
  num_fee_paying: count('extrinsics with a fee above zero'),
  fee_unknown: count('signed extrinsics whose fee no source tells'),
  treasury: widePlanck('sum of `treasury.Deposit`'),
  num_transfers: count('`balances.Transfer` events'),
  transferred: widePlanck('sum of `balances.Transfer`'),
  num_transfers_combined: count('those and transfers of assets and tokens'),
  num_xcm_messages: count('XCM messages sent and received'),
  num_xcm_failed: count('XCM messages that failed'),
  num_xcm_transferred: count('executed XCM transfer and teleport calls, nested ones included'),
  num_new_accounts: count('`system.NewAccount` events'),
  num_killed_accounts: count('`system.KilledAccount` events'),
  num_remarked: count('`system.Remarked` events'),
  num_remark_calls: count('executed `system.remark` calls, nested ones included'),
  num_extrinsic_success: count('`system.ExtrinsicSuccess` events'),
  num_extrinsic_failed: count('`system.ExtrinsicFailed` events'),
  included_candidates: count('`paraInclusion.CandidateIncluded` events'),
} as const;

/** The first and the last block: those of a day are the least and the greatest of its hours. */
export const ENDS = {
  first_block: count('least height'),
  last_block: count('greatest height'),
  first_time: timestamp('time of the earliest block'),
  last_time: timestamp('time of the latest block'),
} as const;

const HOUR = sql`${hourSql('assumeNotNull(time)')} AS hour`;
const MINUTES = 60;

/** What a window reads of a raw table: the condition that a block counts. */
type Counts = (window: Window, isCounted: Sql) => Sql;

const blockCounts: Counts = (window, isCounted) => sql`
  SELECT relay_chain, chain, ${HOUR}, count() AS num_blocks,
    min(number) AS first_block, max(number) AS last_block,
    min(assumeNotNull(time)) AS first_time, max(assumeNotNull(time)) AS last_time,
    sum(extrinsics) AS num_extrinsics, sum(events) AS num_events,
    groupBitXor(cityHash64(rank)) AS made_of, groupArray(rank) AS ranks, arraySort(groupArray(number)) AS heights,
    arrayMap(run -> (run[1], run[-1]), arraySplit((height, step) -> step != 1,
      heights, arrayDifference(heights))) AS runs
  FROM ${window.gained ? gainedRows(blocks, window, window.gained) : sql`(SELECT * FROM ${canonicalBlocks(window)} WHERE ${isCounted})`}
  GROUP BY relay_chain, chain, hour`;

const transactionCounts: Counts = (window, isCounted) => sql`
  SELECT relay_chain, chain, ${HOUR},
    countIf(signed) AS num_transactions_signed, countIf(ethereum) AS evm_num_transactions,
    sum(toUInt256(ifNull(fee, 0))) AS fees, sum(toUInt256(tip)) AS tips,
    countIf(fee > 0) AS num_fee_paying, countIf(isNull(fee)) AS fee_unknown,
    sumMap([toUInt8(toMinute(time, 'UTC'))], [toUInt64(1)]) AS by_minute,
    arrayReduce('groupArrayInsertAt(0, ${MINUTES})', by_minute.2, by_minute.1) AS minutes
  FROM ${canonicalExtrinsics(window, sql`(signed OR ethereum) AND ${isCounted}`)} GROUP BY relay_chain, chain, hour`;

/** Counts of events by their names in the block. */
const eventCounts: Counts = (window, isCounted) => sql`
  SELECT relay_chain, chain, ${HOUR},
    sumIf(toUInt256(ifNull(amount, 0)), pallet = 'treasury') AS treasury,
    countIf(pallet = 'balances') AS num_transfers,
    sumIf(toUInt256(ifNull(amount, 0)), pallet = 'balances') AS transferred,
    countIf(event IN ('Transfer', 'Transferred')) AS num_transfers_combined,
    countIf(pallet IN ('xcmpQueue', 'dmpQueue', 'parachainSystem') OR event = 'Processed') AS num_xcm_messages,
    countIf((pallet = 'xcmpQueue' AND event = 'Fail') OR event = 'ProcessingFailed'
      OR (event = 'Processed' AND ${raw(fieldSql('messageQueue.Processed', 'success', 'data'))} = 'false')) AS num_xcm_failed,
    countIf(event = 'NewAccount') AS num_new_accounts, countIf(event = 'KilledAccount') AS num_killed_accounts,
    countIf(event = 'Remarked') AS num_remarked,
    countIf(event = 'ExtrinsicSuccess') AS num_extrinsic_success,
    countIf(event = 'ExtrinsicFailed') AS num_extrinsic_failed,
    countIf(event = 'CandidateIncluded') AS included_candidates,
    arraySort(groupUniqArrayIf(data[1], event = 'CandidateIncluded' AND data[1] != '')) AS paras
  FROM ${canonicalEvents(
    window,
    sql`${isCounted} AND refused = '' AND (
      (pallet = 'balances' AND event = 'Transfer') OR (pallet = 'treasury' AND event = 'Deposit')
      OR (pallet IN ('assets', 'foreignAssets', 'poolAssets') AND event = 'Transferred')
      OR (pallet = 'tokens' AND event = 'Transfer')
      OR (pallet = 'xcmpQueue' AND event IN ('XcmpMessageSent', 'Success', 'Fail'))
      OR (pallet = 'parachainSystem' AND event = 'UpwardMessageSent')
      OR (pallet = 'dmpQueue' AND event = 'ExecutedDownward')
      OR (pallet = 'messageQueue' AND event IN ('Processed', 'ProcessingFailed'))
      OR (chain = relay_chain AND pallet = 'paraInclusion' AND event = 'CandidateIncluded')
      OR (pallet = 'system' AND event IN ('NewAccount', 'KilledAccount', 'Remarked', 'ExtrinsicSuccess', 'ExtrinsicFailed')))`,
  )} GROUP BY relay_chain, chain, hour`;

/** Counts of executed calls, nested ones included. */
const callCounts: Counts = (window, isCounted) => sql`
  SELECT relay_chain, chain, ${HOUR},
    countIf(pallet != 'system') AS num_xcm_transferred, countIf(pallet = 'system') AS num_remark_calls
  FROM ${canonicalCalls(
    window,
    sql`${isCounted} AND ((pallet = 'system' AND call = 'remark')
      OR (pallet IN ('polkadotXcm', 'xcmPallet') AND call IN ('reserveTransferAssets', 'limitedReserveTransferAssets',
        'teleportAssets', 'limitedTeleportAssets', 'transferAssets', 'transferAssetsUsingTypeAndThen'))
      OR (pallet = 'xTokens' AND call IN ('transfer', 'transferMultiasset', 'transferWithFee',
        'transferMultiassetWithFee', 'transferMulticurrencies', 'transferMultiassets')))`,
  )} GROUP BY relay_chain, chain, hour`;

const names = [
  ...Object.keys(SUMS),
  ...Object.keys(ENDS),
  'minutes',
  'paras',
  'runs',
  'up_to',
  'beyond',
  'made_of',
];

/** The rows of hours, made of the blocks that count: all of loads up to `upTo`, and some of later ones. */
const rowsOf = (window: Window, upTo: string, isCounted: Sql): Sql => sql`
    SELECT hour, relay_chain, chain, ${join(names.map((column) => raw(column)))}
    FROM (SELECT *, toUInt64(${upTo}) AS up_to, arraySort(arrayFilter(of_block -> ${raw(blockSequenceSql('of_block'))} > up_to, ranks)) AS beyond FROM (${blockCounts(window, isCounted)})) AS blocks
    LEFT JOIN (${transactionCounts(window, isCounted)}) AS transactions USING (relay_chain, chain, hour)
    LEFT JOIN (${eventCounts(window, isCounted)}) AS events USING (relay_chain, chain, hour)
    LEFT JOIN (${callCounts(window, isCounted)}) AS calls USING (relay_chain, chain, hour)`;

/** All sums of a row as one array: the engine plans it in less time than an aggregate for each. */
const totals = raw(
  `sumForEach(array(${Object.keys(SUMS)
    .map((column) => `toUInt256(part.${column})`)
    .join(', ')})) AS totals`,
);

/** How rows of one hour, made of different blocks, become one row. */
const UNITED = {
  ...Object.fromEntries(Object.keys(SUMS).map((column, index) => [column, `totals[${index + 1}]`])),
  first_block: 'min(part.first_block)',
  last_block: 'max(part.last_block)',
  first_time: 'min(part.first_time)',
  last_time: 'max(part.last_time)',
  minutes: 'sumForEach(part.minutes)',
  paras: 'arraySort(groupUniqArrayArray(part.paras))',
  // A run begins where the one before it does not end at the height before.
  runs: `arrayMap(run -> (run[1].1, run[-1].2), arraySplit((run, before) -> run.1 != before.2 + 1,
        arraySort(groupArrayArray(part.runs)) AS all_runs, arrayPushFront(arrayPopBack(all_runs), (0, 0))))`,
  up_to: 'max(part.up_to)',
  beyond: `arraySort(arrayFilter(of_block -> ${blockSequenceSql('of_block')} > max(part.up_to), groupArrayArray(part.beyond)))`,
  made_of: 'groupBitXor(part.made_of)',
};

/** Adds to the stored rows the gained blocks that they do not count: an earlier attempt may have added some. */
const addedRows = (window: Window, gained: GainedBlocks): Sql => {
  const stored = sql`(SELECT * FROM ${chainHour.table} FINAL
        WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until} AND ${ofGainedChains(gained)})`;
  // Such a row came after the plan, of a version that does not tell what it counts: the next round reads its hour whole.
  const isUntold = raw(
    `throwIf(stored.num_blocks > 0 AND stored.up_to = 0, 'an earlier version computed the hour')`,
  );
  const ofNew = sql`(SELECT rank FROM ${listOfGained(window, gained)} AS gained
      LEFT JOIN ${stored} AS stored USING (relay_chain, chain, hour)
      WHERE NOT ${isUntold} AND sequence > stored.up_to AND NOT has(stored.beyond, rank)
        AND rank IN ${canonicalOfGained(window, gained)})`;
  const united = Object.entries(UNITED).map(([column, of]) => raw(`${of} AS ${column}`));
  return sql`
    ${withNewRanks(ofNew)}
    SELECT hour, relay_chain, chain, ${totals}, ${join(united)}
    FROM (
      SELECT *, 1 AS is_new FROM (${rowsOf(window, gained.loaded, raw('1'))})
      UNION ALL SELECT hour, relay_chain, chain, ${raw(names.join(', '))}, 0 AS is_new FROM ${stored}
    ) AS part
    GROUP BY hour, relay_chain, chain HAVING max(is_new) = 1`;
};

/** Everything that metrics of days count in raw rows, counted once; no endpoint serves it. */
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
    // Signed extrinsics and Ethereum transactions by minute; empty where the hour has none.
    minutes: 'Array(UInt64)',
    // Parachains of the included candidates, each once.
    paras: 'Array(String)',
    // First and last of heights that follow each other without a hole.
    runs: 'Array(Tuple(UInt64, UInt64))',
    // It counts the canonical blocks of all loads up to this number; 0 where that is not known.
    up_to: 'UInt64',
    // The ranks of the other blocks that it counts, of later loads that had ended.
    beyond: 'Array(UInt128)',
    // These blocks, as one number: it differs when one of them is canonical no longer.
    made_of: 'UInt64',
  },
  key: ['hour', 'relay_chain', 'chain'],
  materialized: 'hourly',
  period: 'hour',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  addsBlocks: 'counted',
  select: (window) => {
    const { gained, loaded } = window;
    if (gained) return addedRows(window, gained);
    return loaded === undefined
      ? rowsOf(window, '0', raw('1'))
      : rowsOf(window, loaded.upTo, isOfEnded(window, loaded));
  },
  endpoints: [],
});
