import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { raw, sql } from '../../../infra/clickhouse/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { metric } from '../../metric.ts';
import { chainHour, ENDS, SUMS } from './chain-hour.ts';

const sums = Object.keys(SUMS).map((column) => `sum(hours.${column}) AS ${column}`);
const ends = Object.keys(ENDS).map(
  (column) => `${column.startsWith('first') ? 'min' : 'max'}(hours.${column}) AS ${column}`,
);

/** The input of the daily metrics, of the calendar and of rolling sums; no endpoint serves it. */
export const chainDay = metric({
  record: 'ChainDay',
  title: 'Counts by day',
  domain: 'activity',
  doc: 'Blocks, extrinsics, events and calls of one chain and UTC day.',
  columns: {
    date: day('UTC day of the block timestamps'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    ...SUMS,
    ...ENDS,
    distinct_paras: count('parachains of the included candidates'),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => sql`
    SELECT toDate(hour) AS date, relay_chain, chain, ${raw([...sums, ...ends].join(', '))},
      uniqExactArray(paras) AS distinct_paras
    FROM ${chainHour.table} AS hours FINAL
    WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}
    GROUP BY date, relay_chain, chain`,
  endpoints: [],
});
