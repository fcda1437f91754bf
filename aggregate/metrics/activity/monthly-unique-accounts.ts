import { sql } from '../../../infra/sql.ts';
import { ECOSYSTEM } from '../../../ingest/chains/ecosystem.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name } from '../../columns.ts';
import { type MaterializedMetric, metric, SERVED_RELAYS } from '../../metric.ts';
import { accountChange } from './account-change.ts';
import { chainDay } from './chain-day.ts';

/** A chain, and the union of all chains of its relay chain; solo chains have no relay chain. */
const withEcosystem = sql`if(relay_chain = 'solo', [toString(chain)], [toString(chain), ${ECOSYSTEM}])`;
export const monthlyUniqueAccounts: MaterializedMetric = metric({
  record: 'MonthlyUniqueAccounts',
  title: 'Accounts',
  domain: 'activity',
  doc: 'Accounts that exist at the end of a month: keys whose last `system.NewAccount` or `system.KilledAccount` event is a `NewAccount`. Active accounts are far fewer and have a column of their own. The `ecosystem` row counts a key that exists on several chains of the relay chain once.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain, or `ecosystem` for all chains of the relay', { title: 'Chain' }),
    month: day('last day of the month', { title: 'Month' }),
    number_of_unique_addresses: count('account keys that exist at the end of the month', {
      title: 'Existing accounts',
      overTime: 'last',
      overChains: 'none',
    }),
    number_of_active_addresses: count('distinct signers and Ethereum senders of the month', {
      title: 'Active accounts',
      overTime: 'none',
      overChains: 'none',
    }),
    number_of_new_addresses: count('distinct account keys created in the month', {
      title: 'New accounts',
      overTime: 'none',
      overChains: 'none',
    }),
  },
  key: ['month', 'relay_chain', 'chain'],
  materialized: 'monthly',
  invalidationScope: 'onward',
  // All months from the first changed month on are one window, because the row before the window sums up earlier months.
  // While that row is missing, as after an upgrade, the sum can be negative.
  select: (window) => sql`
    SELECT relay_chain, chain_name AS chain, month,
      greatest(ifNull(existed, 0) + sum(existing) OVER (PARTITION BY relay_chain, chain_name ORDER BY month
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW), 0) AS number_of_unique_addresses,
      active AS number_of_active_addresses, created AS number_of_new_addresses
    FROM (
      SELECT DISTINCT relay_chain, arrayJoin(${withEcosystem}) AS chain_name, toLastDayOfMonth(date) AS month
      FROM ${chainDay.table} FINAL
      WHERE ${ofRelays(window)} AND date >= ${window.from} AND date < ${window.until}
    ) AS months
    LEFT JOIN (
      SELECT relay_chain, toString(chain) AS chain_name, toLastDayOfMonth(toDate(hour)) AS month,
        sum(changes.existing) AS existing, sum(changes.active) AS active, sum(changes.created) AS created
      FROM ${accountChange.table} AS changes FINAL
      WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}
      GROUP BY relay_chain, chain_name, month
    ) AS changes USING (relay_chain, chain_name, month)
    LEFT JOIN (
      SELECT relay_chain, toString(chain) AS chain_name, toInt64(argMax(number_of_unique_addresses, month)) AS existed
      FROM ${monthlyUniqueAccounts.table} FINAL WHERE ${ofRelays(window)} AND month < ${window.from}
      GROUP BY relay_chain, chain_name
    ) AS before USING (relay_chain, chain_name)`,
  endpoints: [
    {
      path: '/api/monthly-unique-accounts',
      summary: 'Accounts that exist at the end of a month',
      relays: SERVED_RELAYS,
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
