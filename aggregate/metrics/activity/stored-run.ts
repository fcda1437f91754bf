import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalBlocks } from '../../../ingest/raw/canonical.ts';
import { chains } from '../../../ingest/raw/tables.ts';
import { metric } from '../../metric.ts';

/** Shows which days of an asset hub are complete; no endpoint serves it. */
export const storedRun = metric({
  record: 'StoredRun',
  doc: 'Heights of one UTC day that follow each other without a hole.',
  columns: {
    relay_chain: name('relay chain'),
    chain: name('asset hub'),
    date: day('UTC day of the blocks'),
    first_block: count('least height of the run'),
    last_block: count('greatest height of the run'),
  },
  key: ['relay_chain', 'chain', 'date', 'first_block'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'day',
  lookbackDays: 1,
  select: (window) => sql`
    SELECT relay_chain, chain, date, min(number) AS first_block, max(number) AS last_block
    FROM (
      SELECT relay_chain, chain, toDate(assumeNotNull(time)) AS date, number,
        toInt64(number) - toInt64(row_number() OVER (PARTITION BY relay_chain, chain, toDate(assumeNotNull(time)) ORDER BY number)) AS run
      FROM ${canonicalBlocks(window)}
      WHERE chain IN (SELECT chain FROM ${chains} FINAL WHERE role = 'asset-hub')
    )
    GROUP BY relay_chain, chain, date, run`,
  endpoints: [],
});
