import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { daysOf, hasHours, ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';
import { accountHour, LIFE } from './account-hour.ts';

const within = ({ from, until }: Window) => sql`hour >= ${from} AND hour < ${until}`;

/** Accounts of the hours of a window; tombstones too, of accounts that are in none of its blocks any more. */
const isOfHours = (window: Window): Sql =>
  hasHours(window)
    ? sql`(relay_chain, chain, account) IN (SELECT relay_chain, chain, account FROM ${accountHour.table}
        WHERE ${ofRelays(window)} AND ${within(window)})`
    : sql`1`;

/**
 * One row per account and day with any activity. Distinct counts over chains are unions of these rows by key; a
 * 20-byte and a 32-byte key are never the same account.
 */
export const accountDay = metric({
  record: 'AccountDay',
  title: 'Roles of accounts by day',
  domain: 'activity',
  doc: 'Roles that an account had on one chain and UTC day.',
  columns: {
    date: day('UTC day'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    roles: count('bits of `ROLE`'),
  },
  internal: { account: 'String' },
  key: ['date', 'relay_chain', 'chain', 'account'],
  materialized: 'hourly',
  rowsOfHours: isOfHours,
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  select: (window) => sql`
    SELECT toDate(hour) AS date, relay_chain, chain,
      bitOr(groupBitOr(bitAnd(of_hour, ${~LIFE & 0xff})), argMax(bitAnd(of_hour, ${LIFE}), (life_block, life_event))) AS roles,
      account
    FROM (SELECT hour, relay_chain, chain, account, roles AS of_hour, life_block, life_event
      FROM ${accountHour.table} FINAL
      WHERE ${ofRelays(window)} AND ${within(daysOf(window))} AND ${isOfHours(window)})
    GROUP BY date, relay_chain, chain, account`,
  endpoints: [],
});
