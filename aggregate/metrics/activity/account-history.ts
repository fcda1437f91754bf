import { sql } from '../../../infra/sql.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { count, name, timestamp } from '../../columns.ts';
import { type MaterializedMetric, metric } from '../../metric.ts';
import { accountHour, hasRole, ROLE } from './account-hour.ts';

const isInWindow = (window: Window) =>
  sql`${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}`;

/** Roles that count once a month, and roles that decide whether an account exists. */
export const hasMonthlyRole = hasRole(ROLE.signed, ROLE.ethereumSent, ROLE.created);
export const hasExistenceRole = hasRole(ROLE.endsAlive, ROLE.endsDead);

const history = metric({
  record: 'AccountHistory',
  title: 'Roles of accounts by account',
  domain: 'activity',
  doc: 'Hours in which an account of a chain was active, created or removed, sorted by account.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain'),
    hour: timestamp('start of the UTC hour'),
    roles: count('bits of `ROLE`'),
  },
  // Rows with `is_life` hold creations and removals, the others hold activity and creations.
  internal: { account: 'String', life_block: 'UInt64', life_event: 'UInt64', is_life: 'UInt8' },
  key: ['relay_chain', 'account', 'chain', 'hour', 'is_life'],
  materialized: 'hourly',
  select: (window) => sql`
    SELECT relay_chain, chain, hour, roles, account, life_block, life_event,
      arrayJoin(arrayFilter(life -> if(life = 1, ${hasExistenceRole}, ${hasMonthlyRole}), [0, 1])) AS is_life
    FROM ${accountHour.table} FINAL
    WHERE ${isInWindow(window)} AND (${hasMonthlyRole} OR ${hasExistenceRole})`,
  endpoints: [],
});

/**
 * Looks up the earlier hours of an account. No endpoint serves it. Existence depends on all years, activity on the month
 * alone, so the two have separate partitions.
 */
export const accountHistory: MaterializedMetric = {
  ...history,
  // The table is sorted by account. Reads tombstones too, for accounts that no block of these hours holds any more.
  storedRows: (window) => sql`${isInWindow(window)} AND (relay_chain, account, chain) IN (
    SELECT relay_chain, account, chain FROM ${accountHour.table} WHERE ${isInWindow(window)})`,
  table: {
    ...history.table,
    partitionBy: 'if(is_life = 1, 0, toYYYYMM(hour))',
    // An hour looks up accounts all over the table, and reads a granule for each.
    settings: ['index_granularity = 128', 'min_compress_block_size = 8192'],
  },
};
