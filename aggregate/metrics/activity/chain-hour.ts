import { clickhouseType, count, name, timestamp, widePlanck } from '../../../infra/clickhouse/columns.ts';
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

/** The first and the last block, by height and by time. */
export const ENDS = {
  first_block: count('least height'),
  last_block: count('greatest height'),
  first_time: timestamp('time of the earliest block'),
  last_time: timestamp('time of the latest block'),
  earliest_block: count('height of the earliest block, the least of several'),
  latest_block: count('height of the latest block, the greatest of several'),
} as const;

const HOUR = sql`${hourSql('assumeNotNull(time)')} AS hour`;
const MINUTES = 60;

/** What a window reads of a raw table: the condition that a block counts. */
type Counts = (window: Window, isCounted: Sql) => Sql;

/** What a table tells of an hour, beside sums, where it tells nothing of it. */
const PARTS = {
  is_new: '0',
  /** Whether it tells of blocks, as stored rows do. */
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
  up_to: 'toUInt64(0)',
  beyond: "CAST([], 'Array(UInt128)')",
  made_of: 'toUInt64(0)',
};
/** Sums that may be wider than 64 bits, and the others. */
const WIDE = sumsOf((type) => type === 'UInt256');
const COUNTED = sumsOf((type) => type !== 'UInt256');
function sumsOf(isOne: (type: string) => boolean): (keyof Sums)[] {
  return (Object.keys(SUMS) as (keyof Sums)[]).filter((column) => isOne(clickhouseType(SUMS[column])));
}
type Part = Partial<Record<keyof typeof PARTS, string>>;
type Sums = Partial<Record<keyof typeof SUMS, string>>;

/**
 * The columns of a part of an hour, in the order of all parts. All counts are one array: the engine plans that in less
 * time than an aggregate for each, and a union of parts in less than joins of them.
 */
function partOf(sums: Sums, part: Part): Sql {
  const totals = COUNTED.map((column) => sums[column] ?? '0');
  const wide = Object.fromEntries(WIDE.map((column) => [column, sums[column] ?? 'toUInt256(0)']));
  const others = Object.entries({ ...PARTS, ...wide, ...part }).map(([column, of]) => `${of} AS ${column}`);
  return raw(
    `relay_chain, chain, CAST([${totals.join(', ')}], 'Array(UInt64)') AS totals, ${others.join(', ')}`,
  );
}

const blockCounts = (window: Window, isCounted: Sql, upTo: string): Sql => sql`
  SELECT ${HOUR}, ${partOf(
    { num_blocks: 'count()', num_extrinsics: 'sum(extrinsics)', num_events: 'sum(events)' },
    {
      is_new: '1',
      is_of_blocks: '1',
      first_block: 'min(number)',
      last_block: 'max(number)',
      first_time: 'min(assumeNotNull(time))',
      last_time: 'max(assumeNotNull(time))',
      earliest_block: 'argMin(number, (assumeNotNull(time), number))',
      latest_block: 'argMax(number, (assumeNotNull(time), number))',
      runs: `arrayMap(run -> (run[1], run[-1]), arraySplit((height, step) -> step != 1,
      arraySort(groupArray(number)) AS heights, arrayDifference(heights)))`,
      up_to: sql`toUInt64(${upTo})`.text,
      beyond: sql`groupArrayIf(rank, ${raw(blockSequenceSql('rank'))} > toUInt64(${upTo}))`.text,
      made_of: 'groupBitXor(cityHash64(rank))',
    },
  )}
  FROM ${window.gained ? gainedRows(blocks, window, window.gained) : sql`(SELECT * FROM ${canonicalBlocks(window)} WHERE ${isCounted})`}
  GROUP BY relay_chain, chain, hour`;

const transactionCounts: Counts = (window, isCounted) => sql`
  SELECT ${HOUR}, ${partOf(
    {
      num_transactions_signed: 'countIf(signed)',
      evm_num_transactions: 'countIf(ethereum)',
      fees: 'sum(toUInt256(ifNull(fee, 0)))',
      tips: 'sum(toUInt256(tip))',
      num_fee_paying: 'countIf(fee > 0)',
      fee_unknown: 'countIf(isNull(fee))',
    },
    {
      minutes: `arrayReduce('groupArrayInsertAt(0, ${MINUTES})',
      (sumMap([toUInt8(toMinute(time, 'UTC'))], [toUInt64(1)]) AS by_minute).2, by_minute.1)`,
    },
  )}
  FROM ${canonicalExtrinsics(window, sql`(signed OR ethereum) AND ${isCounted}`)} GROUP BY relay_chain, chain, hour`;

/** Counts of events by their names in the block. */
const eventCounts: Counts = (window, isCounted) => sql`
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
      num_extrinsic_success: "countIf(event = 'ExtrinsicSuccess')",
      num_extrinsic_failed: "countIf(event = 'ExtrinsicFailed')",
      included_candidates: "countIf(event = 'CandidateIncluded')",
    },
    { paras: "groupUniqArrayIf(data[1], event = 'CandidateIncluded' AND data[1] != '')" },
  )}
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
  SELECT ${HOUR}, ${partOf(
    {
      num_xcm_transferred: "countIf(pallet != 'system')",
      num_remark_calls: "countIf(pallet = 'system')",
    },
    {},
  )}
  FROM ${canonicalCalls(
    window,
    sql`${isCounted} AND ((pallet = 'system' AND call = 'remark')
      OR (pallet IN ('polkadotXcm', 'xcmPallet') AND call IN ('reserveTransferAssets', 'limitedReserveTransferAssets',
        'teleportAssets', 'limitedTeleportAssets', 'transferAssets', 'transferAssetsUsingTypeAndThen'))
      OR (pallet = 'xTokens' AND call IN ('transfer', 'transferMultiasset', 'transferWithFee',
        'transferMultiassetWithFee', 'transferMulticurrencies', 'transferMultiassets')))`,
  )} GROUP BY relay_chain, chain, hour`;

/** The parts of hours that tables tell, of the blocks that count: all of loads up to `upTo`, and some of later ones. */
const partsOf = (window: Window, upTo: string, isCounted: Sql): Sql[] => [
  blockCounts(window, isCounted, upTo),
  ...[transactionCounts, eventCounts, callCounts].map((counts) => counts(window, isCounted)),
];

/** How the parts of an hour become its row. */
const UNITED = {
  ...Object.fromEntries(COUNTED.map((column, index) => [column, `totals[${index + 1}]`])),
  ...Object.fromEntries(WIDE.map((column) => [column, `sum(part.${column})`])),
  first_block: 'minIf(part.first_block, part.is_of_blocks = 1)',
  last_block: 'max(part.last_block)',
  first_time: 'minIf(part.first_time, part.is_of_blocks = 1)',
  last_time: 'maxIf(part.last_time, part.is_of_blocks = 1)',
  earliest_block: 'minIf((part.first_time, part.earliest_block), part.is_of_blocks = 1).2',
  latest_block: 'maxIf((part.last_time, part.latest_block), part.is_of_blocks = 1).2',
  minutes: 'sumForEach(part.minutes)',
  paras: 'arraySort(groupUniqArrayArray(part.paras))',
  // A run begins where the one before it does not end at the height before.
  runs: `arrayMap(run -> (run[1].1, run[-1].2), arraySplit((run, before) -> run.1 != before.2 + 1,
        arraySort(groupArrayArray(part.runs)) AS all_runs, arrayPushFront(arrayPopBack(all_runs), (0, 0))))`,
  up_to: 'max(part.up_to)',
  beyond: `arraySort(arrayFilter(of_block -> ${blockSequenceSql('of_block')} > max(part.up_to), groupArrayArray(part.beyond)))`,
  made_of: 'groupBitXor(part.made_of)',
};

/** The rows of the hours in which a block counts. */
const united = (parts: readonly Sql[]): Sql => sql`
    SELECT hour, relay_chain, chain, sumForEach(part.totals) AS totals,
      ${raw(
        Object.entries(UNITED)
          .map(([column, of]) => `${of} AS ${column}`)
          .join(', '),
      )}
    FROM (${join(parts, ' UNION ALL ')}) AS part
    GROUP BY hour, relay_chain, chain HAVING max(is_new) = 1`;

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
  const asItIs = (of: object) => Object.fromEntries(Object.keys(of).map((column) => [column, column]));
  const ofStored = partOf(asItIs(SUMS), { ...asItIs(PARTS), is_new: '0', is_of_blocks: '1' });
  return sql`
    ${withNewRanks(ofNew)}
    ${united([...partsOf(window, gained.loaded, raw('1')), sql`SELECT hour, ${ofStored} FROM ${stored}`])}`;
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
  isOfOneChain: true,
  addsBlocks: 'counted',
  select: (window) => {
    const { gained, loaded } = window;
    if (gained) return addedRows(window, gained);
    return united(
      loaded === undefined
        ? partsOf(window, '0', raw('1'))
        : partsOf(window, loaded.upTo, isOfEnded(window, loaded)),
    );
  },
  endpoints: [],
});
