import { sql } from '../../../infra/sql.ts';
import { ofRelays } from '../../../ingest/raw/canonical.ts';
import { chains } from '../../../ingest/raw/tables.ts';
import { count, day, name } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { chainHour } from './chain-hour.ts';

/** Finds the complete days of an asset hub. No endpoint serves it. */
export const storedRun = metric({
  record: 'StoredRun',
  title: 'Runs of consecutive blocks',
  domain: 'activity',
  doc: 'Runs of consecutive block heights of a UTC day.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('asset hub'),
    date: day('UTC day of the blocks'),
    first_block: count('lowest height of the run'),
    last_block: count('highest height of the run'),
  },
  key: ['relay_chain', 'chain', 'date', 'first_block'],
  materialized: 'daily',
  select: (window) => sql`
    SELECT relay_chain, chain, date, min(run.1) AS first_block, max(run.2) AS last_block
    FROM (
      SELECT relay_chain, chain, date, run,
        toInt64(run.2) + 1 - toInt64(sum(run.2 - run.1 + 1) OVER (PARTITION BY relay_chain, chain, date ORDER BY run.1
          ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)) AS island
      FROM (
        SELECT relay_chain, chain, toDate(hour) AS date, arrayJoin(runs) AS run
        FROM ${chainHour.table} FINAL
        WHERE ${ofRelays(window)} AND hour >= ${window.from} AND hour < ${window.until}
          AND (relay_chain, chain) IN (SELECT relay_chain, chain FROM ${chains} FINAL WHERE role = 'asset-hub')
      )
    )
    GROUP BY relay_chain, chain, date, island`,
  endpoints: [],
});
