import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { count, day, name, real } from '../../columns.ts';
import { metric, SERVED_RELAYS } from '../../metric.ts';
import { firstOf30Days, registryOf } from '../shared/sql.ts';
import { uptimeHour } from './uptime-hour.ts';

export const dailyUptime = metric({
  record: 'DailyUptime',
  title: 'Uptime',
  domain: 'activity',
  doc: 'Share of blocks that came within 60 seconds of their parent, over 1, 7 and 30 UTC days. A block whose parent is not stored is not evaluated. A day on which the chain provably produced no block has an uptime of 0. A day without data has no row.',
  columns: {
    relay_chain: name('relay chain', { title: 'Relay chain' }),
    chain: name('chain', { title: 'Chain' }),
    date: day('UTC day of the blocks', { title: 'Day' }),
    target_block_time: real('nominal time between two blocks, in seconds', {
      title: 'Target block time',
      unit: 'seconds',
      overTime: 'last',
      isDrawn: false,
    }),
    uptime_1day: real('blocks on time / blocks evaluated on this day, 0 to 1; null when none was evaluated', {
      title: 'Uptime',
      unit: 'ratio',
      nullable: true,
    }),
    uptime_7days: real(
      'blocks on time / blocks evaluated on this day and the 6 days before, 0 to 1; null when none was evaluated',
      {
        title: 'Uptime over 7 days',
        unit: 'ratio',
        overTime: 'last',
        nullable: true,
      },
    ),
    uptime_30days: real(
      'blocks on time / blocks evaluated on this day and the 29 days before, 0 to 1; null when none was evaluated',
      {
        title: 'Uptime over 30 days',
        unit: 'ratio',
        overTime: 'last',
        nullable: true,
      },
    ),
    blocks_1day: count('blocks evaluated on this day', { title: 'Blocks checked', isDrawn: false }),
    deviations_1day: count('evaluated blocks of this day that came more than 60 seconds after their parent', {
      title: 'Late blocks',
    }),
    blocks_7days: count('blocks evaluated over 7 days', {
      title: 'Blocks checked over 7 days',
      overTime: 'last',
      isDrawn: false,
    }),
    deviations_7days: count('evaluated blocks that came late, over 7 days', {
      title: 'Late blocks over 7 days',
      overTime: 'last',
      isDrawn: false,
    }),
    blocks_30days: count('blocks evaluated over 30 days', {
      title: 'Blocks checked over 30 days',
      overTime: 'last',
      isDrawn: false,
    }),
    deviations_30days: count('evaluated blocks that came late, over 30 days', {
      title: 'Late blocks over 30 days',
      overTime: 'last',
      isDrawn: false,
    }),
    max_gap_seconds: real(
      'longest time between an evaluated block of this day and its parent, in seconds; null when none was evaluated',
      {
        title: 'Longest time between two blocks',
        unit: 'seconds',
        overTime: 'max',
        overChains: 'max',
        nullable: true,
      },
    ),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  lookbackDays: 30,
  select: (window) => sql`
    SELECT relay_chain, chain, date,
      block_times[greatest(1, arrayLastIndex(step -> step.since <= date, block_times))].seconds AS target_block_time,
      if(num_blocks = 0, 0, if(evaluated = 0, NULL, on_time / evaluated)) AS uptime_1day,
      if(blocks_7days = 0, NULL, on_time_7 / blocks_7days) AS uptime_7days,
      if(blocks_30days = 0, NULL, on_time_30 / blocks_30days) AS uptime_30days,
      evaluated AS blocks_1day, evaluated - on_time AS deviations_1day,
      blocks_7days, blocks_7days - on_time_7 AS deviations_7days,
      blocks_30days, blocks_30days - on_time_30 AS deviations_30days,
      max_gap_seconds
    FROM (
      SELECT relay_chain, chain, date, evaluated, on_time, max_gap_seconds, num_blocks,
        sum(evaluated) OVER seven AS blocks_7days, sum(on_time) OVER seven AS on_time_7,
        sum(evaluated) OVER thirty AS blocks_30days, sum(on_time) OVER thirty AS on_time_30
      FROM (
        SELECT relay_chain, chain, toDate(hour) AS date, sum(hours.evaluated) AS evaluated, sum(hours.on_time) AS on_time,
          max(hours.max_gap_seconds) AS max_gap_seconds, sum(hours.num_blocks) AS num_blocks
        FROM ${uptimeHour.table} AS hours FINAL
        WHERE ${ofRelays(window)} AND date >= ${firstOf30Days(window.from)} AND date < ${window.until}
        GROUP BY relay_chain, chain, date)
      WINDOW seven AS (PARTITION BY relay_chain, chain ORDER BY date RANGE BETWEEN 6 PRECEDING AND CURRENT ROW),
        thirty AS (PARTITION BY relay_chain, chain ORDER BY date RANGE BETWEEN 29 PRECEDING AND CURRENT ROW)
    ) AS days LEFT JOIN ${registryOf(window)} AS registry USING (relay_chain, chain)
    WHERE date >= ${window.from}`,
  endpoints: [
    {
      path: '/api/daily-uptime',
      summary: 'Share of blocks on time, over 1, 7 and 30 days',
      relays: SERVED_RELAYS,
      dates: { column: 'date', floor: '2023-01-01', required: false },
    },
  ],
});
