import { count, day, name, real } from '../../../infra/clickhouse/columns.ts';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { canonicalBlocks, ofRelays } from '../../../ingest/raw/canonical.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { metric } from '../../metric.ts';
import { chainDay } from './chain-day.ts';

/**
 * Gaps between a block and its parent, by the UTC day of the child. A day without blocks has a row only when it
 * is proven empty: the blocks on both sides of it are parent and child.
 */
export const uptimeDay = metric({
  record: 'UptimeDay',
  doc: 'Evaluated and late blocks of one chain and UTC day.',
  columns: {
    date: day('UTC day of the child'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    evaluated: count('blocks whose gap to their parent is known'),
    on_time: count('evaluated blocks with a gap of at most 60 s'),
    max_gap_seconds: real('largest evaluated gap in seconds', { nullable: true }),
    num_blocks: count('blocks with a timestamp'),
  },
  key: ['date', 'relay_chain', 'chain'],
  materialized: 'daily',
  period: 'date',
  invalidationScope: 'neighbours',
  lookbackDays: 1,
  keepsRows: true,
  select: (window) => {
    // The blocks of the window, their parents, and the blocks before and after empty days at the edges of the window.
    const heights = sql`
      SELECT relay_chain, chain, number FROM ${canonicalBlocks(window)}
      UNION ALL SELECT relay_chain, chain, number - 1 FROM ${canonicalBlocks(window)} WHERE number > 0
      UNION ALL SELECT relay_chain, chain, argMax(last_block, date) FROM ${chainDay.table} FINAL
        WHERE ${ofRelays(window)} AND date < ${window.from} GROUP BY relay_chain, chain
      UNION ALL SELECT relay_chain, chain, argMin(first_block, date) FROM ${chainDay.table} FINAL
        WHERE ${ofRelays(window)} AND date >= ${window.until} GROUP BY relay_chain, chain`;
    const pairs = sql`
      SELECT relay_chain, chain, assumeNotNull(time) AS child_time, toDate(child_time) AS child_day, isNotNull(time) AS timed,
        lagInFrame(number) OVER previous AS parent_number,
        lagInFrame(hash) OVER previous AS hash_before,
        lagInFrame(time) OVER previous AS parent_time,
        number > 0 AND parent_number = number - 1 AND hash_before = parent_hash AND isNotNull(parent_time) AS known,
        toDate(assumeNotNull(parent_time)) AS parent_day,
        dateDiff('millisecond', assumeNotNull(parent_time), child_time) AS gap
      FROM (SELECT * FROM ${blocks} FINAL
        WHERE ${ofRelays(window)} AND (relay_chain, chain, number) IN (${heights}))
      WINDOW previous AS (PARTITION BY relay_chain, chain ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`;
    return sql`
      SELECT date, relay_chain, chain, sum(known_gap) AS evaluated,
        sum(known_gap AND gap <= 60000) AS on_time, maxOrNull(if(known_gap, gap, NULL)) / 1000 AS max_gap_seconds,
        sum(is_block) AS num_blocks
      FROM (
        SELECT relay_chain, chain, child_day AS date, known AS known_gap, gap, 1 AS is_block FROM (${pairs}) WHERE timed
        UNION ALL
        SELECT relay_chain, chain, arrayJoin(arrayMap(n -> parent_day + n, range(1, toUInt32(child_day - parent_day)))) AS date,
          0 AS known_gap, 0 AS gap, 0 AS is_block
        FROM (${pairs}) WHERE timed AND known AND child_day > parent_day + 1
      )
      WHERE date >= ${window.from} AND date < ${window.until}
      GROUP BY date, relay_chain, chain`;
  },
  endpoints: [],
});
