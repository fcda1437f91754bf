import { raw, type Sql, sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { count, day as date, name, real } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { nativeSql, usdAs, usdColumns, usdPartsSql, usdSql } from '../shared/amounts.ts';
import {
  chainOrEcosystem,
  dateSql,
  isEcosystem,
  perChainAndEcosystem,
  pricesOf,
  registryOf,
} from '../shared/sql.ts';
import { accountHour, H160_BYTES, hasRole, ROLE } from './account-hour.ts';
import { chainDay, KNOWN_FEES } from './chain-day.ts';

const withRole = (...roles: number[]) => sql`countIf(${hasRole(...roles)})`;
/** Distinct H160 addresses: the same address on two chains counts once, even if their accounts differ. */
const addressesWith = (...roles: number[]) =>
  sql`uniqExactIf(substring(account, 1, ${H160_BYTES}), ${hasRole(...roles)})`;

/** Distinct accounts by role; the ecosystem is the union of its chains by key. */
const accountCounts = (window: Window): Sql => sql`
  SELECT relay_chain, chain_name, date,
    ${addressesWith(ROLE.ethereumSent)} AS unique_evm_from_addresses,
    ${addressesWith(ROLE.ethereumReceived)} AS unique_evm_to_addresses,
    ${addressesWith(ROLE.ethereumSent, ROLE.ethereumReceived)} AS unique_evm_addresses,
    ${addressesWith(ROLE.ethereumSucceeded)} AS evm_active,
    ${withRole(ROLE.signed)} AS num_accounts_active_signed,
    ${withRole(ROLE.signed, ROLE.received)} AS num_accounts_active_signed_plus_received,
    ${withRole(ROLE.signed, ROLE.ethereumSent)} AS num_accounts_active_signed_combined,
    ${withRole(ROLE.signed, ROLE.received, ROLE.ethereumSent, ROLE.ethereumReceived)} AS num_accounts_active_signed_plus_received_combined
  FROM (
    SELECT relay_chain, arrayJoin([toString(chain), ${ECOSYSTEM}]) AS chain_name, toDate(hour) AS date, account,
      groupBitOr(of_hour) AS roles
    FROM (SELECT relay_chain, chain, hour, account, roles AS of_hour FROM ${accountHour.table} FINAL
      WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until})
    GROUP BY relay_chain, chain_name, date, account
  ) GROUP BY relay_chain, chain_name, date`;

/** The USD value of an amount, summed over the chains of the row. */
const usdSum = (amount: string, column = amount): Sql =>
  usdAs(
    (part) => `sum(${part})`,
    usdPartsSql(`days.${column}`, 'days.decimals', 'days.price'),
    `${amount}_usd`,
  );

const additive = [
  'evm_num_transactions',
  'num_events',
  'num_transactions_signed',
  'num_transactions_combined',
  'num_transfers',
  'num_transfers_combined',
  'num_xcm_messages',
  'num_xcm_failed',
  'num_xcm_transferred',
  'num_new_accounts',
  'num_killed_accounts',
  'num_extrinsic_success',
  'num_extrinsic_failed',
  'num_blocks',
  'num_extrinsics',
];

export const dailySummary = metric({
  record: 'DailySummary',
  title: 'Daily activity',
  domain: 'activity',
  doc: 'Accounts, transactions, transfers, XCM messages and fees of a chain on a UTC day. The `ecosystem` row adds up the counts of the chains of the relay chain and counts each account key once. It has amounts in USD only.',
  mainColumn: 'num_accounts_active_signed_combined',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain, or `ecosystem` for all chains of the relay', { title: 'Chain' }),
    date: date('UTC day of the blocks', { title: 'Day' }),
    fees: real(
      'fees paid, in native tokens; null for the ecosystem, and when all fees of the day are unknown',
      {
        title: 'Fees',
        unit: 'native',
        nullable: true,
      },
    ),
    fees_usd: real('fees paid, in USD at the price of the day; null without a price', {
      title: 'Fees in USD',
      unit: 'usd',
      nullable: true,
    }),
    treasury: real(
      'sum of `treasury.Deposit`, fee shares included, in native tokens; null for the ecosystem',
      {
        title: 'Treasury income',
        unit: 'native',
        nullable: true,
      },
    ),
    treasury_usd: real('sum of `treasury.Deposit`, in USD at the price of the day; null without a price', {
      title: 'Treasury income in USD',
      unit: 'usd',
      nullable: true,
    }),
    evm_num_transactions: count('Ethereum transactions, successful or not', {
      title: 'Ethereum transactions',
    }),
    unique_evm_from_addresses: count('distinct H160 senders of Ethereum transactions', {
      title: 'Ethereum senders',
      overTime: 'none',
      overChains: 'none',
    }),
    unique_evm_to_addresses: count('distinct H160 receivers of Ethereum transactions', {
      title: 'Ethereum receivers',
      overTime: 'none',
      overChains: 'none',
    }),
    unique_evm_addresses: count('distinct H160 senders and receivers', {
      title: 'Ethereum addresses',
      overTime: 'none',
      overChains: 'none',
    }),
    evm_active: count('distinct H160 senders with at least one successful transaction', {
      title: 'Successful Ethereum senders',
      overTime: 'none',
      overChains: 'none',
    }),
    num_accounts_active_signed: count('distinct signers of extrinsics, successful or not', {
      title: 'Signers',
      overTime: 'none',
      overChains: 'none',
    }),
    num_accounts_active_signed_plus_received: count(
      'distinct signers and recipients of `balances.Transfer`',
      { title: 'Signers and recipients', overTime: 'none', overChains: 'none' },
    ),
    num_accounts_active_signed_combined: count('distinct signers and Ethereum senders', {
      title: 'Active accounts',
      overTime: 'none',
      overChains: 'none',
    }),
    num_accounts_active_signed_plus_received_combined: count(
      'distinct signers, recipients, Ethereum senders and receivers',
      { title: 'Active accounts and recipients', overTime: 'none', overChains: 'none' },
    ),
    num_events: count('events of all phases', { title: 'Events' }),
    num_transactions_signed: count('signed extrinsics', { title: 'Signed extrinsics' }),
    num_transactions_combined: count('signed extrinsics, Ethereum and general transactions', {
      title: 'Transactions',
    }),
    num_transfers: count('`balances.Transfer` events', { title: 'Transfers of the native token' }),
    num_transfers_combined: count(
      'events `balances.Transfer`, `tokens.Transfer`, `assets.Transferred`, `foreignAssets.Transferred` and `poolAssets.Transferred`',
      {
        title: 'Transfers of all tokens',
      },
    ),
    transfer_amount_usd: real(
      'sum of `balances.Transfer`, in USD at the price of the day; null without a price',
      {
        title: 'Amount transferred in USD',
        unit: 'usd',
        nullable: true,
      },
    ),
    num_xcm_messages: count('XCM messages sent and received', { title: 'XCM messages' }),
    num_xcm_failed: count('XCM messages that failed', { title: 'Failed XCM messages' }),
    num_xcm_transferred: count('executed XCM transfer and teleport calls, nested ones included', {
      title: 'XCM transfers',
    }),
    num_new_accounts: count('`system.NewAccount` events', { title: 'New accounts' }),
    num_killed_accounts: count('`system.KilledAccount` events', { title: 'Removed accounts' }),
    num_remarked: count('`system.Remarked` events and executed `system.remark` calls, nested ones included', {
      title: 'Remarks',
    }),
    num_extrinsic_success: count('extrinsics whose only outcome event is `system.ExtrinsicSuccess`', {
      title: 'Successful extrinsics',
    }),
    num_extrinsic_failed: count('extrinsics whose only outcome event is `system.ExtrinsicFailed`', {
      title: 'Failed extrinsics',
    }),
    num_blocks: count('blocks with a timestamp', { title: 'Blocks' }),
    num_extrinsics: count('extrinsics, inherents included', { title: 'Extrinsics' }),
    first_block: count('lowest block of the day; null for the ecosystem', {
      title: 'First block',
      unit: 'height',
      overTime: 'min',
      nullable: true,
    }),
    last_block: count('highest block of the day; null for the ecosystem', {
      title: 'Last block',
      unit: 'height',
      overTime: 'max',
      nullable: true,
    }),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT relay_chain, chain_name AS chain, date,
      ${nativeSql('fees_planck')} AS fees, ${usdSql(usdColumns('fees_usd'))} AS fees_usd,
      ${nativeSql('treasury_planck')} AS treasury, ${usdSql(usdColumns('treasury_usd'))} AS treasury_usd,
      ${usdSql(usdColumns('transferred_usd'))} AS transfer_amount_usd,
      ${raw(additive.join(', '))}, remarks AS num_remarked, first_of_day AS first_block, last_of_day AS last_block,
      unique_evm_from_addresses, unique_evm_to_addresses, unique_evm_addresses, evm_active,
      num_accounts_active_signed, num_accounts_active_signed_plus_received, num_accounts_active_signed_combined,
      num_accounts_active_signed_plus_received_combined
    FROM (
      SELECT relay_chain, ${chainOrEcosystem} AS chain_name, date, any(days.decimals) AS decimals,
        ${raw(additive.map((column) => `sum(days.${column}) AS ${column}`).join(', '))},
        sum(days.num_remarked + days.num_remark_calls) AS remarks,
        if(${isEcosystem}, NULL, sum(days.known_fees)) AS fees_planck, if(${isEcosystem}, NULL, sum(days.treasury)) AS treasury_planck,
        if(${isEcosystem}, NULL, min(days.first_block)) AS first_of_day, if(${isEcosystem}, NULL, max(days.last_block)) AS last_of_day,
        ${usdSum('fees', 'known_fees')}, ${usdSum('treasury')}, ${usdSum('transferred')}
      FROM (
        SELECT * FROM (SELECT *, ${KNOWN_FEES} AS known_fees FROM ${chainDay.table} FINAL WHERE ${ofRelays(window)}
          AND date >= ${window.from} AND date < ${window.until}) AS ground
        LEFT JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
        LEFT JOIN ${pricesOf(dateSql(window.from), dateSql(window.until))} AS prices USING (token, date)
      ) AS days
      ${perChainAndEcosystem}
    ) AS sums LEFT JOIN (${accountCounts(window)}) AS accounts USING (relay_chain, chain_name, date)`,
  endpoints: [
    {
      path: '/api/daily-summary',
      summary: 'Accounts, transactions, transfers and fees of a day',
      relays: SERVED_RELAYS,
      dates: { column: 'date', floor: '2023-01-01', required: true },
    },
  ],
});
