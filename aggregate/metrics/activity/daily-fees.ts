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
  doc: 'Fees paid on a UTC day, failed extrinsics included, with the trailing 30 days. A fee is what `transactionPayment.TransactionFeePaid` says (tip included), else the source’s partial fee and tip, else what treasury and author received. USD at one daily close of the chain’s token; unknown is null, never 0.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain, or `ecosystem` for all chains of the relay', { title: 'Chain' }),
    date: date('UTC day of the blocks', { title: 'Day' }),
    total_fees: real(
      'fees in native tokens; null for the ecosystem, whose tokens differ, and where no fee is known',
      {
        title: 'Fees',
        unit: 'native',
        nullable: true,
      },
    ),
    total_fees_planck: widePlanck('the same, exact, in planck', { title: 'Fees in planck', nullable: true }),
    total_fees_usd: real('fees in USD; null on a day without a price', {
      title: 'Fees in USD',
      unit: 'usd',
      nullable: true,
    }),
    total_fees_usd_30d: real('known `total_fees_usd` of this day and the 29 before, in USD', {
      title: 'Fees over 30 days in USD',
      unit: 'usd',
      overTime: 'last',
      isDrawn: false,
      nullable: true,
    }),
    priced_days_30d: count('days among those 30 with a known USD value', {
      title: 'Days with a price, of 30',
      overTime: 'last',
      overChains: 'none',
      isDrawn: false,
    }),
    total_fees_30d: real('fees of this day and the 29 before, in native tokens', {
      title: 'Fees over 30 days',
      unit: 'native',
      overTime: 'last',
      isDrawn: false,
      nullable: true,
    }),
    total_tips: real('tips of signed extrinsics and general transactions, in native tokens', {
      title: 'Tips',
      unit: 'native',
      nullable: true,
    }),
    num_fee_paying: count('extrinsics with a fee above zero', { title: 'Extrinsics that paid a fee' }),
    avg_fee: real('total_fees / num_fee_paying, in native tokens', {
      title: 'Average fee',
      unit: 'native',
      overTime: 'mean',
      nullable: true,
    }),
    fee_unknown: count('transactions whose fee no source tells', {
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
      summary: 'Fees of a day and of the trailing 30 days',
      relays: [...SERVED_RELAYS, 'westend'],
      dates: { column: 'date', floor: '2023-01-01', required: false },
    },
  ],
});
