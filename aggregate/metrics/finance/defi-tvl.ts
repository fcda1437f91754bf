import { sql } from '../../../infra/sql.ts';
import { day, name, real } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { snapshotOfDay } from '../shared/snapshot.ts';

const DEFI_CHAINS = ['asset-hub-polkadot', 'hydration', 'acala', 'astar', 'bifrost'] as const;

export const defiTvl = metric({
  record: 'DefiTvl',
  title: 'Value locked in DeFi',
  domain: 'finance',
  doc: `Total value locked in the protocols of ${DEFI_CHAINS.join(', ')}, from the last \`tvl\` snapshot of a UTC day. A day without a snapshot has no row. A value of 0 was 0 in the snapshot.`,
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain of the snapshot', { title: 'Chain' }),
    date: day('UTC day of the snapshot', { title: 'Day' }),
    tvl_usd: real('total value locked, in USD', { title: 'Value locked', unit: 'usd', overTime: 'last' }),
  },
  key: ['date', 'relay_chain', 'chain'],
  order: ['date', 'chain'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT relay_chain, chain, date, toFloat64(JSONExtractString(payload, 'tvl_usd')) AS tvl_usd
    FROM ${snapshotOfDay(window, 'tvl')} WHERE chain IN ${DEFI_CHAINS}`,
  endpoints: [
    {
      path: '/api/defi-tvl',
      summary: 'Total value locked of five chains',
      relays: SERVED_RELAYS,
      scopeParameters: [],
      dates: { column: 'date', required: false },
    },
  ],
});
