import { count, day, name, timestamp, widePlanck } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalBlocks, canonicalExtrinsics } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';

/** Additive numbers of a chain and day, the input of the daily metrics; no endpoint serves it. */
export const chainDay = metric({
  record: 'ChainDay',
  doc: 'Blocks, extrinsics and fees of one chain and UTC day.',
  columns: {
    date: day('UTC day of the block timestamps'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    num_blocks: count('blocks with a timestamp'),
    first_block: count('least height of the day'),
    last_block: count('greatest height of the day'),
    first_time: timestamp('time of the earliest block'),
    last_time: timestamp('time of the latest block'),
    num_extrinsics: count('extrinsics, inherents included'),
    num_events: count('events of all phases'),
    num_transactions_signed: count('signed extrinsics, successful or not'),
    evm_num_transactions: count('Ethereum transactions, successful or not'),
    fees: widePlanck('fees paid'),
    tips: widePlanck('tips of signed extrinsics'),
    num_fee_paying: count('extrinsics with a fee above zero'),
    fee_unknown: count('signed extrinsics whose fee no source tells'),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT date, relay_chain, chain, num_blocks, first_block, last_block, first_time, last_time,
      num_extrinsics, num_events, num_transactions_signed, evm_num_transactions, fees, tips, num_fee_paying,
      fee_unknown
    FROM (
      SELECT relay_chain, chain, toDate(assumeNotNull(time)) AS date, count() AS num_blocks,
        min(number) AS first_block, max(number) AS last_block,
        min(assumeNotNull(time)) AS first_time, max(assumeNotNull(time)) AS last_time,
        sum(extrinsics) AS num_extrinsics, sum(events) AS num_events
      FROM ${canonicalBlocks(window)} GROUP BY relay_chain, chain, date
    ) AS blocks LEFT JOIN (
      SELECT relay_chain, chain, toDate(time) AS date,
        countIf(signed) AS num_transactions_signed, countIf(ethereum) AS evm_num_transactions,
        sum(toUInt256(ifNull(fee, 0))) AS fees, sum(toUInt256(tip)) AS tips,
        countIf(fee > 0) AS num_fee_paying, countIf(isNull(fee)) AS fee_unknown
      FROM ${canonicalExtrinsics(window, sql`(signed OR ethereum)`)} GROUP BY relay_chain, chain, date
    ) AS extrinsics USING (relay_chain, chain, date)`,
  endpoints: [],
});
