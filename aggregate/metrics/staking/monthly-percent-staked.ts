import { raw, sql } from '../../../infra/sql.ts';
import { count, day, name, real } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { dividedDownSql, nativeSql } from '../shared/amounts.ts';
import { amountOf, snapshotOfMonth } from '../shared/snapshot.ts';
import { registryOf } from '../shared/sql.ts';

const issued = amountOf('total', 'issuance.payload');
const staked = amountOf('staked', 'staking.payload');

export const monthlyPercentStaked = metric({
  record: 'MonthlyPercentStaked',
  title: 'Share of tokens staked',
  domain: 'staking',
  doc: 'Share of the token issuance that is staked at the end of a month, from the last `issuance` and the last `staking_state` snapshot of the month. A month that lacks either snapshot has no row.',
  mainColumn: 'percentage_staked',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of both snapshots', { title: 'Chain' }),
    month: day('last day of the month', { title: 'Month' }),
    block_number: count('block of the `issuance` snapshot; null when it has none', {
      title: 'Block',
      unit: 'height',
      nullable: true,
    }),
    total_issuance: real('total token issuance, in native tokens', {
      title: 'Total issuance',
      unit: 'native',
      overTime: 'last',
    }),
    total_staked: real('total stake, in native tokens', {
      title: 'Total staked',
      unit: 'native',
      overTime: 'last',
    }),
    percentage_staked: real('`total_staked` / `total_issuance`, 0 to 1; null when the issuance is 0', {
      title: 'Share staked',
      unit: 'ratio',
      overTime: 'last',
      nullable: true,
    }),
  },
  key: ['month', 'relay_chain', 'chain'],
  materialized: 'monthly',
  select: (window) => sql`
    SELECT issuance.relay_chain AS relay_chain, issuance.chain AS chain, issuance.month AS month,
      issuance.block_number AS block_number,
      ${nativeSql(issued)} AS total_issuance, ${nativeSql(staked)} AS total_staked,
      if(${raw(issued)} = 0, NULL, ${raw(dividedDownSql(staked, `greatest(${issued}, 1)`, '0'))}) AS percentage_staked
    FROM ${snapshotOfMonth(window, 'issuance')} AS issuance
    INNER JOIN ${snapshotOfMonth(window, 'staking_state')} AS staking
      ON issuance.relay_chain = staking.relay_chain AND issuance.chain = staking.chain AND issuance.month = staking.month
    INNER JOIN ${registryOf(window)} AS registry
      ON registry.relay_chain = issuance.relay_chain AND registry.chain = issuance.chain`,
  endpoints: [
    {
      path: '/api/monthly-percent-staked',
      summary: 'Total issuance, total stake and their ratio',
      relays: ['polkadot'],
      dates: { column: 'month', floor: '2022-01-01', required: true },
    },
  ],
});
