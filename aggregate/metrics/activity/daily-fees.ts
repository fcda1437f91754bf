import { raw, sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day as date, name, real, widePlanck } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { dividedDownSql, nativeSql, usdAs, usdColumns, usdPartsSql, usdSql } from '../shared/amounts.ts';
import {
  chainOrEcosystem,
  dateSql,
  firstOf30Days,
  isEcosystem,
  perChainAndEcosystem,
  pricesOf,
  registryOf,
} from '../shared/sql.ts';
import { chainDay, KNOWN_FEES } from './chain-day.ts';

const FEES_USD = usdColumns('fees_usd');

export const dailyFees = metric({
  record: 'DailyFees',
  title: 'Fees',
  domain: 'activity',
  doc: 'Fees paid on a UTC day and over the 30 days that end with it, failed extrinsics included. The fee of an extrinsic comes from its `transactionPayment.TransactionFeePaid` event, tip included; without that event, from the partial fee and tip that the source reports; without these, from the deposits to the treasury and the block author. USD values use the last token price of the day. An unknown amount is null, never 0.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain, or `ecosystem` for all chains of the relay', { title: 'Chain' }),
    date: date('UTC day of the blocks', { title: 'Day' }),
    total_fees: real(
      'fees in native tokens; null for the ecosystem, and when all fees of the day are unknown',
      {
        title: 'Fees',
        unit: 'native',
        nullable: true,
      },
    ),
    total_fees_planck: widePlanck('`total_fees` in planck', { title: 'Fees in planck', nullable: true }),
    total_fees_usd: real(
      'fees in USD at the price of the day; null without a price. The ecosystem row adds up the known values of its chains',
      {
        title: 'Fees in USD',
        unit: 'usd',
        nullable: true,
      },
    ),
    total_fees_usd_30d: real(
      'sum of the known `total_fees_usd` of this day and the 29 days before; null when none is known',
      {
        title: 'Fees over 30 days in USD',
        unit: 'usd',
        overTime: 'last',
        isDrawn: false,
        nullable: true,
      },
    ),
    priced_days_30d: count('days of these 30 whose `total_fees_usd` is known', {
      title: 'Days with a price in 30 days',
      overTime: 'last',
      overChains: 'none',
      isDrawn: false,
    }),
    total_fees_30d: real(
      'sum of the known `total_fees` of this day and the 29 days before, in native tokens; null when none is known',
      {
        title: 'Fees over 30 days',
        unit: 'native',
        overTime: 'last',
        isDrawn: false,
        nullable: true,
      },
    ),
    total_tips: real('tips of signed extrinsics and general transactions, in native tokens', {
      title: 'Tips',
      unit: 'native',
      nullable: true,
    }),
    num_fee_paying: count('extrinsics with a fee above zero', { title: 'Extrinsics that paid a fee' }),
    avg_fee: real(
      '`total_fees` / `num_fee_paying`, in native tokens; null for the ecosystem, and when no extrinsic paid a known fee',
      {
        title: 'Average fee',
        unit: 'native',
        overTime: 'mean',
        nullable: true,
      },
    ),
    fee_unknown: count('extrinsics whose fee is unknown; no sum contains them', {
      title: 'Extrinsics with an unknown fee',
      isDrawn: false,
    }),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  lookbackDays: 30,
  select: (window) => sql`
    SELECT relay_chain, chain_name AS chain, date,
      ${nativeSql('fees')} AS total_fees, fees AS total_fees_planck,
      ${usdSql(FEES_USD)} AS total_fees_usd, ${usdSql(usdColumns('fees_usd_30d'))} AS total_fees_usd_30d, priced_days_30d,
      ${nativeSql('fees_30d')} AS total_fees_30d, ${nativeSql('tips')} AS total_tips,
      num_fee_paying,
      if(isNull(fees) OR num_fee_paying = 0, NULL,
        ${raw(dividedDownSql('assumeNotNull(fees)', 'greatest(num_fee_paying, 1)', 'decimals'))}) AS avg_fee,
      fee_unknown
    FROM (
      SELECT *, ${usdAs((part) => `sum(${part}) OVER thirty`, FEES_USD, 'fees_usd_30d')},
        count(${raw(FEES_USD.high)}) OVER thirty AS priced_days_30d,
        sum(fees) OVER thirty AS fees_30d
      FROM (
        SELECT relay_chain, ${chainOrEcosystem} AS chain_name, date, any(decimals) AS decimals,
          if(${isEcosystem}, NULL, sum(known_fees)) AS fees, if(${isEcosystem}, NULL, sum(day_tips)) AS tips,
          ${usdAs((part) => `sum(${part})`, usdColumns('day_fees_usd'), 'fees_usd')},
          sum(num_fee_paying) AS num_fee_paying, sum(fee_unknown) AS fee_unknown
        FROM (
          SELECT relay_chain, chain, date, decimals, known_fees, days.tips AS day_tips, num_fee_paying,
            fee_unknown, ${usdAs((part) => part, usdPartsSql('known_fees', 'decimals', 'price'), 'day_fees_usd')}
          FROM (SELECT *, ${KNOWN_FEES} AS known_fees FROM ${chainDay.table} FINAL WHERE ${ofRelays(window)}
            AND date >= ${firstOf30Days(window.from)} AND date < ${window.until}) AS days
          LEFT JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
          LEFT JOIN ${pricesOf(firstOf30Days(window.from), dateSql(window.until))} AS prices USING (token, date)
        )
        ${perChainAndEcosystem}
      )
      WINDOW thirty AS (PARTITION BY relay_chain, chain_name ORDER BY date RANGE BETWEEN 29 PRECEDING AND CURRENT ROW)
    )
    WHERE date >= ${window.from}`,
  endpoints: [
    {
      path: '/api/daily-fees',
      summary: 'Fees of a day, and of the 30 days that end with it',
      relays: [...SERVED_RELAYS, 'westend'],
      dates: { column: 'date', floor: '2023-01-01', required: false },
    },
  ],
});
