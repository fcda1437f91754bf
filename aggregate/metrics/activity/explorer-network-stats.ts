import { sql } from '../../../infra/sql.ts';
import { count, name, real, timestamp } from '../../columns.ts';
import { SERVED_RELAYS, viewMetric } from '../../metric.ts';
import { accountSql } from './account-hour.ts';
import { greatestHeight, lastDayExtrinsics, newestBlock } from './last-day.ts';

export const explorerNetworkStats = viewMetric({
  record: 'ExplorerNetworkStats',
  title: 'Last 24 hours',
  domain: 'activity',
  doc: 'Transactions, active accounts and success rate of a chain over the 24 hours that end with its newest stored block.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain', { title: 'Chain' }),
    tx_24h: count('signed extrinsics, Ethereum and general transactions', {
      title: 'Transactions',
      overTime: 'last',
    }),
    extrinsics_24h: count('extrinsics, inherents included', { title: 'Extrinsics', overTime: 'last' }),
    active_accounts_24h: count('distinct signers and Ethereum senders', {
      title: 'Active accounts',
      overTime: 'last',
      overChains: 'none',
    }),
    success_rate: real(
      'successful transactions / transactions whose outcome is known, 0 to 1; null when none is known',
      {
        title: 'Success rate',
        unit: 'ratio',
        overTime: 'last',
        nullable: true,
      },
    ),
    latest_block: count('height of the highest stored block', {
      title: 'Newest block',
      unit: 'height',
      overTime: 'max',
    }),
    as_of: timestamp('time of the newest stored block', { title: 'Time of the newest block' }),
  },
  key: ['relay_chain', 'chain'],
  materialized: false,
  select: (key) => sql`
    SELECT ${key.relay_chain} AS relay_chain, ${key.chain} AS chain, tx_24h, extrinsics_24h, active_accounts_24h,
      success_rate, ${greatestHeight(key)} AS latest_block, as_of
    FROM ${newestBlock(key)} AS newest CROSS JOIN (
      SELECT countIf(is_transaction) AS tx_24h, count() AS extrinsics_24h,
        uniqExactIf(account, account != '') AS active_accounts_24h,
        if(countIf(is_transaction AND isNotNull(succeeded)) = 0, NULL,
          countIf(is_transaction AND succeeded = 1) / countIf(is_transaction AND isNotNull(succeeded))) AS success_rate
      FROM (SELECT succeeded, signed OR ethereum OR general AS is_transaction,
          if(signed, signer_key, ethereum_from) AS sender, ${accountSql('sender')} AS account
        FROM ${lastDayExtrinsics(key)})
    ) AS day`,
  endpoints: [
    {
      path: '/api/explorer/network-stats',
      summary:
        'Transactions, active accounts and success rate of the 24 hours up to the newest block of a chain',
      relays: SERVED_RELAYS,
      defaults: { relay_chain: 'polkadot', chain: 'asset-hub-polkadot' },
    },
  ],
});
