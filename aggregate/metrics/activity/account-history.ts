import { count, name, timestamp } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';
import { accountHour, hasRole, ROLE } from './account-hour.ts';

const ofItsHours = (window: Window) =>
  sql`${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}`;

/** What was before an hour is looked up by account; no endpoint serves it. */
export const accountHistory = metric({
  record: 'AccountHistory',
  title: 'Roles of accounts by account',
  domain: 'activity',
  doc: 'The hours in which an account acted, was created or removed on one chain, in the order of accounts.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('chain'),
    hour: timestamp('start of the UTC hour'),
    roles: count('bits of `ROLE`'),
  },
  internal: { account: 'String', life_block: 'UInt64', life_event: 'UInt64' },
  key: ['relay_chain', 'account', 'chain', 'hour'],
  // An hour looks up accounts from all over the table: for each of them a granule is read.
  tableSettings: ['index_granularity = 128', 'min_compress_block_size = 8192'],
  materialized: 'hourly',
  period: 'hour',
  // Of its accounts, tombstones too: those that are in none of its blocks any more.
  unitesHours: (window) => sql`${ofItsHours(window)} AND (relay_chain, account, chain) IN (
    SELECT relay_chain, account, chain FROM ${accountHour.table} WHERE ${ofItsHours(window)})`,
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT relay_chain, chain, hour, roles, account, life_block, life_event FROM ${accountHour.table} FINAL
    WHERE ${ofItsHours(window)}
      AND ${hasRole(ROLE.signed, ROLE.ethereumSent, ROLE.created, ROLE.endsAlive, ROLE.endsDead)}`,
  endpoints: [],
});
