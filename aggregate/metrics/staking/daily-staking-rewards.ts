import { raw, sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { addressEncodings } from '../../../ingest/raw/tables.ts';
import { count, day as date, name, real, text } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { nativeSql, usdPartsSql, usdSql } from '../shared/amounts.ts';
import { accountKey, anyOf } from '../shared/filters.ts';
import { sumColumns } from '../shared/native-amounts.ts';
import { dateSql, pricesOf, registryOf } from '../shared/sql.ts';
import { stakingRewardHour } from './staking-reward-hour.ts';

/** The address from the source; encoded again if the source used the prefix of another network. */
const address = raw(`multiIf(
    length(key) = 20, concat('0x', lower(hex(key))),
    written != '', written,
    encoded.address)`);

export const dailyStakingRewards = metric({
  record: 'DailyStakingRewards',
  title: 'Staking rewards',
  domain: 'staking',
  doc: 'Staking rewards of an account on a UTC day: rewards of its stash, wherever they were paid, and payouts of nomination pools to it as a member. Pools pay out of the rewards of their own stash, so the total of a chain is the sum of `staking_reward` alone. Rewards with the destination `None` are excluded. Slashes are not deducted.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the payouts', { title: 'Chain' }),
    date: date('UTC day of the payouts', { title: 'Day' }),
    account: text('stash or pool member, as SS58 of the chain', { title: 'Account' }),
    ...sumColumns('reward', '`staking_reward` + `pool_reward`', { title: 'Rewards' }),
    ...sumColumns(
      'staking_reward',
      'sum of `staking.Rewarded` (formerly `Reward`) and `staking.ValidatorIncentivePaid` of the stash',
      {
        title: 'Staking rewards',
      },
    ),
    ...sumColumns('pool_reward', 'sum of `nominationPools.PaidOut` to the member', { title: 'Pool rewards' }),
    reward_usd: real('`reward` in USD at the price of the day; null without a price', {
      title: 'Rewards in USD',
      unit: 'usd',
      nullable: true,
    }),
    num_payouts: count('reward and payout events in these sums', { title: 'Payouts' }),
    era_min: count('first era of `staking_reward`; null when no event names one', {
      title: 'First era',
      unit: 'identifier',
      nullable: true,
    }),
    era_max: count('last era of `staking_reward`; null when no event names one', {
      title: 'Last era',
      unit: 'identifier',
      nullable: true,
    }),
    ...sumColumns('slashed', 'sum of `staking.Slashed` (formerly `Slash`) of the account on the day', {
      title: 'Slashed',
    }),
  },
  internal: { account_key: 'String' },
  key: ['date', 'relay_chain', 'chain', 'account_key'],
  order: ['date', 'relay_chain', 'chain', 'account'],
  materialized: 'daily',
  select: (window) => {
    const accounts = sql`
      SELECT relay_chain, chain, toDate(hour) AS date, account AS key, concat('0x', lower(hex(key))) AS account_key,
        sum(hours.of_stash) AS of_stash, sum(hours.of_pools) AS of_pools, sum(hours.slashes) AS slashes,
        sum(hours.num_payouts) AS num_payouts, min(hours.era_min) AS era_min, max(hours.era_max) AS era_max,
        anyIf(written_here, written_here != '') AS written
      FROM ${stakingRewardHour.table} AS hours FINAL
      WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}
      GROUP BY relay_chain, chain, date, account HAVING num_payouts > 0`;
    return sql`
      SELECT relay_chain, chain, date, ${address} AS account, account_key,
        ${nativeSql('of_stash + of_pools')} AS reward, of_stash + of_pools AS reward_planck,
        ${nativeSql('of_stash')} AS staking_reward, of_stash AS staking_reward_planck,
        ${nativeSql('of_pools')} AS pool_reward, of_pools AS pool_reward_planck,
        ${usdSql(usdPartsSql('(of_stash + of_pools)', 'decimals', 'price'))} AS reward_usd,
        num_payouts, era_min, era_max, ${nativeSql('slashes')} AS slashed, slashes AS slashed_planck
      FROM (${accounts}) AS accounts
      INNER JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
      LEFT JOIN ${pricesOf(dateSql(window.from), dateSql(window.until))} AS prices USING (token, date)
      LEFT JOIN (SELECT key, prefix, any(address) AS address FROM ${addressEncodings} GROUP BY key, prefix) AS encoded
        USING (key, prefix)`;
  },
  endpoints: [
    {
      path: '/api/daily-staking-rewards',
      summary: 'Staking and pool rewards by account and day',
      relays: SERVED_RELAYS,
      scopeParameters: ['chain'],
      dates: { column: 'date', floor: '2024-01-01', required: true },
      filters: {
        accounts: {
          schema: anyOf(accountKey()).describe('accounts, as SS58 with any prefix'),
          condition: (keys: string[]) => sql`account_key IN ${keys}`,
        },
      },
      isLimited: true,
    },
  ],
});
