import { sql } from '../../../infra/sql.ts';
import { count, day, name, real } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { nativeSql } from '../shared/amounts.ts';
import { amountOf, countOf, snapshotOfDay } from '../shared/snapshot.ts';
import { registryOf } from '../shared/sql.ts';

/**
 * Staking moved from the relay chain to its asset hub. To give a request for the relay chain one series, the table
 * repeats the row of the asset hub under the name of the relay chain on days without a snapshot of the relay chain. A
 * response for all chains omits these rows.
 */
export const dailyStakingParticipation = metric({
  record: 'DailyStakingParticipation',
  title: 'Staking participation',
  domain: 'staking',
  doc: 'Number of stakers and total stake, from the last `staking_state` snapshot of a UTC day. If `chain` is the relay chain, the answer includes days for which only its asset hub has a snapshot, under the name of the relay chain.',
  mainColumn: 'number_of_addresses_staking',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot; the relay chain if the request names it', { title: 'Chain' }),
    date: day('UTC day of the snapshot', { title: 'Day' }),
    source_chain: name('chain of the snapshot', { title: 'Chain of the snapshot' }),
    number_of_validators: count('active validators', { title: 'Active validators', overTime: 'last' }),
    number_of_nominators: count('nominators', { title: 'Nominators', overTime: 'last', overChains: 'none' }),
    number_of_pool_members: count('members of nomination pools', {
      title: 'Pool members',
      overTime: 'last',
      overChains: 'none',
    }),
    number_of_pools: count('nomination pools', { title: 'Nomination pools', overTime: 'last' }),
    number_of_addresses_staking: count('accounts that stake, directly or as pool members', {
      title: 'Accounts that stake',
      overTime: 'last',
      overChains: 'none',
    }),
    staked_native: real('total staked, pools included, in native tokens', {
      title: 'Staked',
      unit: 'native',
      overTime: 'last',
    }),
    staked_native_in_pools: real('part of `staked_native` that nomination pools stake, in native tokens', {
      title: 'Staked in pools',
      unit: 'native',
      overTime: 'last',
    }),
    unbonding_native: real('stake that is being unbonded, in native tokens', {
      title: 'Unbonding',
      unit: 'native',
      overTime: 'last',
    }),
    minimum_nominator_active_stake: real(
      'lowest stake with which a nominator earned rewards, in native tokens',
      {
        title: 'Lowest stake that earns rewards',
        unit: 'native',
        overTime: 'last',
      },
    ),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  servedRows: (chain) => (chain === undefined ? sql`chain = source_chain` : sql`1`),
  select: (window) => sql`
    SELECT relay_chain, shown AS chain, date, own_name AS source_chain,
      ${countOf('validators')} AS number_of_validators, ${countOf('nominators')} AS number_of_nominators,
      ${countOf('pool_members')} AS number_of_pool_members, ${countOf('pools')} AS number_of_pools,
      ${countOf('addresses_staking')} AS number_of_addresses_staking,
      ${nativeSql(amountOf('staked'))} AS staked_native,
      ${nativeSql(amountOf('staked_in_pools'))} AS staked_native_in_pools,
      ${nativeSql(amountOf('unbonding'))} AS unbonding_native,
      ${nativeSql(amountOf('min_active_stake'))} AS minimum_nominator_active_stake
    FROM (
      SELECT relay_chain, toString(chain) AS own_name, date, payload, decimals, role,
        countIf(role = 'relay') OVER (PARTITION BY relay_chain, date) AS of_relay
      FROM ${snapshotOfDay(window, 'staking_state')} AS stated
      INNER JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
    )
    ARRAY JOIN if(role = 'asset-hub' AND of_relay = 0, [own_name, toString(relay_chain)], [own_name]) AS shown`,
  endpoints: [
    {
      path: '/api/daily-staking-participation',
      summary: 'Validators, nominators, pool members and total stake',
      relays: ['polkadot'],
      dates: { column: 'date', floor: '2022-01-01', required: true },
    },
  ],
});
