import { raw, sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { chainHour, ENDS, SUMS } from './chain-hour.ts';

const sums = Object.keys(SUMS).map((column) => `sum(hours.${column}) AS ${column}`);
const ENDS_OF_HOURS = {
  first_block: 'min(hours.first_block)',
  last_block: 'max(hours.last_block)',
  first_time: 'min(hours.first_time)',
  last_time: 'max(hours.last_time)',
  earliest_block: 'argMin(hours.earliest_block, hours.first_time)',
  latest_block: 'argMax(hours.latest_block, hours.last_time)',
} as const satisfies Record<keyof typeof ENDS, string>;
const ends = Object.entries(ENDS_OF_HOURS).map(([column, expression]) => `${expression} AS ${column}`);

/** The fees of a row of `chainDay` or `chainHour`; null if all of them are unknown. */
export const KNOWN_FEES = raw('if(fee_unknown > 0 AND fee_known = 0, NULL, fees)');

/** The input of the daily metrics and of the calendar. No endpoint serves it. */
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
    distinct_paras: count('parachains with an included candidate'),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT toDate(hour) AS date, relay_chain, chain, ${raw([...sums, ...ends].join(', '))},
      uniqExactArray(paras) AS distinct_paras
    FROM ${chainHour.table} AS hours FINAL
    WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}
    GROUP BY date, relay_chain, chain`,
  endpoints: [],
});
