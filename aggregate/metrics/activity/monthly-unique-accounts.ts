import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { raw, type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { ECOSYSTEM } from '../shared/sql.ts';
import { accountDay } from './account-day.ts';
import { ROLE } from './account-hour.ts';
import { chainDay } from './chain-day.ts';

/** A chain and the union of the chains of its relay; solo chains have no relay. */
const withEcosystem = sql`if(relay_chain = 'solo', [toString(chain)], [toString(chain), ${ECOSYSTEM}])`;
const has = (...roles: number[]) => raw(`bitAnd(roles, ${roles.reduce((all, role) => all | role, 0)}) != 0`);

/** Change of the number of existing accounts from one month to the next, per chain and for the union of all chains. */
const aliveChanges = (window: Window): Sql => {
  const states = sql`
    SELECT relay_chain, chain, account, toLastDayOfMonth(date) AS month, argMax(${has(ROLE.endsAlive)}, date) AS alive
    FROM ${accountDay.table} FINAL
    WHERE ${ofRelays(window)} AND date < ${window.until} AND ${has(ROLE.endsAlive, ROLE.endsDead)}
    GROUP BY relay_chain, chain, account, month`;
  const changes = sql`
    SELECT relay_chain, chain, account, month,
      toInt64(alive) - lagInFrame(toInt64(alive), 1, 0) OVER (PARTITION BY relay_chain, chain, account ORDER BY month
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS change
    FROM (${states})`;
  const homes = sql`
    SELECT relay_chain, account, month, sum(changed) OVER (PARTITION BY relay_chain, account ORDER BY month
      ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS chains_alive
    FROM (SELECT relay_chain, account, month, sum(change) AS changed FROM (${changes}) GROUP BY relay_chain, account, month)`;
  return sql`
    SELECT relay_chain, toString(chain) AS chain_name, month, sum(change) AS change FROM (${changes})
    GROUP BY relay_chain, chain_name, month
    UNION ALL
    SELECT relay_chain, ${ECOSYSTEM} AS chain_name, month, sum(change) AS change
    FROM (SELECT relay_chain, month, toInt64(chains_alive > 0) - lagInFrame(toInt64(chains_alive > 0), 1, 0)
        OVER (PARTITION BY relay_chain, account ORDER BY month ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS change
      FROM (${homes}))
    GROUP BY relay_chain, month`;
};

export const monthlyUniqueAccounts = metric({
  record: 'MonthlyUniqueAccounts',
  title: 'Accounts',
  domain: 'activity',
  doc: 'Accounts that exist at the end of a month: keys whose last `system.NewAccount` or `system.KilledAccount` is a creation. Not the accounts that were active, which stand beside it and are far fewer. The ecosystem row unites the chains of the relay by key.',
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
  period: 'month',
  invalidationScope: 'onward',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT months.relay_chain AS relay_chain, months.chain_name AS chain, months.month AS month,
      sumIf(change, changes.month <= months.month) AS number_of_unique_addresses,
      any(active) AS number_of_active_addresses, any(created) AS number_of_new_addresses
    FROM (
      SELECT DISTINCT relay_chain, arrayJoin(${withEcosystem}) AS chain_name, toLastDayOfMonth(date) AS month
      FROM ${chainDay.table} FINAL
      WHERE ${ofRelays(window)} AND date >= ${window.from} AND date < ${window.until}
    ) AS months
    LEFT JOIN (
      SELECT relay_chain, arrayJoin(${withEcosystem}) AS chain_name, toLastDayOfMonth(date) AS month,
        uniqExactIf(account, ${has(ROLE.signed, ROLE.ethereumSent)}) AS active,
        uniqExactIf(account, ${has(ROLE.created)}) AS created
      FROM ${accountDay.table} FINAL
      WHERE ${ofRelays(window)} AND date >= ${window.from} AND date < ${window.until}
      GROUP BY relay_chain, chain_name, month
    ) AS activity USING (relay_chain, chain_name, month)
    LEFT JOIN (${aliveChanges(window)}) AS changes
      ON changes.relay_chain = months.relay_chain AND changes.chain_name = months.chain_name
    GROUP BY relay_chain, chain, month`,
  endpoints: [
    {
      path: '/api/monthly-unique-accounts',
      summary: 'Accounts that exist at the end of a month',
      relays: SERVED_RELAYS,
      dates: { column: 'month', floor: '2023-01-01', required: false },
    },
  ],
});
