import { sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name, real, timestamp } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { nativeSql } from '../shared/amounts.ts';
import { chainOrEcosystem, isEcosystem, perChainAndEcosystem, registryOf } from '../shared/sql.ts';
import { chainDay, KNOWN_FEES } from './chain-day.ts';
import { chainHour } from './chain-hour.ts';

export const dailyTps = metric({
  record: 'DailyTps',
  title: 'Transactions per second',
  domain: 'activity',
  doc: 'Average transactions per second on a UTC day: signed extrinsics, Ethereum transactions and general transactions, successful or not, divided by 86,400 seconds. The running day is divided by the seconds up to its newest block. The `ecosystem` row adds up the chains of the relay chain; its busiest minute is the busiest of all chains together.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain, or `ecosystem` for all chains of the relay', { title: 'Chain' }),
    date: day('UTC day of the blocks', { title: 'Day' }),
    num_transactions_combined: count('signed extrinsics, Ethereum and general transactions', {
      title: 'Transactions',
    }),
    transactions_per_second: real(
      '`num_transactions_combined` / 86,400; the running day is divided by the seconds up to its newest block',
      { title: 'Transactions per second', unit: 'per_second' },
    ),
    num_transactions_signed: count('signed extrinsics', { title: 'Signed extrinsics' }),
    evm_num_transactions: count('Ethereum transactions', { title: 'Ethereum transactions' }),
    max_transactions_per_second: real('transactions of the busiest UTC minute / 60', {
      title: 'Transactions per second in the busiest minute',
      unit: 'per_second',
      overTime: 'max',
      overChains: 'none',
    }),
    max_tps_at: timestamp('start of the busiest minute, the earliest of several; null without transactions', {
      title: 'Start of the busiest minute',
      nullable: true,
    }),
    num_blocks: count('blocks with a timestamp', { title: 'Blocks' }),
    avg_block_time_seconds: real(
      '(last block time - first block time) / (blocks - 1), in seconds; null with one block, and for the ecosystem',
      {
        title: 'Average block time',
        unit: 'seconds',
        nullable: true,
      },
    ),
    num_extrinsics: count('extrinsics, inherents included', { title: 'Extrinsics' }),
    fees: real(
      'fees paid, in native tokens; null for the ecosystem, and when all fees of the day are unknown',
      {
        title: 'Fees',
        unit: 'native',
        nullable: true,
      },
    ),
  },
  internal: { covered_seconds: 'Float64' },
  provisionalColumns: { transactions_per_second: 'num_transactions_combined / greatest(covered_seconds, 1)' },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT relay_chain, chain_name AS chain, date, combined AS num_transactions_combined,
      combined / 86400 AS transactions_per_second, num_transactions_signed, evm_num_transactions,
      busiest / 60 AS max_transactions_per_second, busiest_at AS max_tps_at, num_blocks,
      avg_block_time_seconds, num_extrinsics, ${nativeSql('fees_planck')} AS fees, covered_seconds
    FROM (
      SELECT relay_chain, ${chainOrEcosystem} AS chain_name, date,
        sum(num_transactions_signed) AS num_transactions_signed, sum(evm_num_transactions) AS evm_num_transactions,
        sum(num_transactions_combined) AS combined, sum(num_blocks) AS num_blocks,
        sum(num_extrinsics) AS num_extrinsics,
        dateDiff('millisecond', toDateTime64(date, 3, 'UTC'), max(last_time)) / 1000 AS covered_seconds,
        if(${isEcosystem}, NULL, sum(known_fees)) AS fees_planck, any(decimals) AS decimals,
        if(${isEcosystem} OR num_blocks < 2, NULL,
          dateDiff('millisecond', min(first_time), max(last_time)) / (1000 * (num_blocks - 1))) AS avg_block_time_seconds
      FROM (SELECT *, ${KNOWN_FEES} AS known_fees FROM ${chainDay.table} FINAL
        WHERE ${ofRelays(window)} AND date >= ${window.from} AND date < ${window.until}) AS days
      LEFT JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
      ${perChainAndEcosystem}
    ) AS days LEFT JOIN (
      SELECT relay_chain, chain_name, toDate(minute) AS date, max(transactions) AS busiest,
        toNullable(toDateTime64(argMin(minute, (-toInt64(transactions), minute)), 3, 'UTC')) AS busiest_at
      FROM (
        SELECT relay_chain, arrayJoin([toString(chain), ${ECOSYSTEM}]) AS chain_name, minute,
          sum(chain_transactions) AS transactions
        FROM (
          SELECT relay_chain, chain, toDateTime(hour, 'UTC') + INTERVAL offset MINUTE AS minute, chain_transactions
          FROM ${chainHour.table} FINAL
          ARRAY JOIN minutes AS chain_transactions, range(length(minutes)) AS offset
          WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until} AND chain_transactions > 0
        ) GROUP BY relay_chain, chain_name, minute
      ) GROUP BY relay_chain, chain_name, date
    ) AS minutes USING (relay_chain, chain_name, date)`,
  endpoints: [
    {
      path: '/api/daily-tps',
      summary: 'Average transactions per second by day, and the busiest minute',
      relays: SERVED_RELAYS,
      dates: { column: 'date', floor: '2023-01-01', required: false },
    },
  ],
});
