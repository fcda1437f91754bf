import { sql } from '../../../infra/sql.ts';
import { canonicalBlocks, daysOf, hourSql, ofMonths, ofRelays } from '../../../ingest/raw/canonical.ts';
import { blocks, replacedBlocks } from '../../../ingest/raw/tables.ts';
import { count, name, real, timestamp } from '../../columns.ts';
import { metric } from '../../metric.ts';
import { chainDay } from './chain-day.ts';

/**
 * Gaps between a block and its parent, by the UTC hour of the child. No endpoint serves it. A day without blocks has a
 * row in its first hour only if it is proven empty: the last block before it is the parent of the first block after it.
 */
export const uptimeHour = metric({
  record: 'UptimeHour',
  title: 'Times between blocks by hour',
  domain: 'activity',
  doc: 'Evaluated and late blocks of one chain and UTC hour.',
  columns: {
    hour: timestamp('start of the UTC hour of the child'),
    relay_chain: name('relay chain'),
    chain: name('chain'),
    evaluated: count('blocks whose gap to their parent is known'),
    on_time: count('evaluated blocks with a gap of at most 60 s'),
    max_gap_seconds: real('largest evaluated gap in seconds', { unit: 'seconds', nullable: true }),
    num_blocks: count('blocks with a timestamp'),
  },
  key: ['hour', 'relay_chain', 'chain'],
  materialized: 'hourly',
  invalidationScope: 'neighbours',
  select: (window) => {
    // Reads the blocks of the window and the first block after it, each with its parent. That first block can prove that
    // days at the end of the window are empty.
    const days = daysOf(window);
    const following = sql`SELECT relay_chain, chain, argMin(earliest_block, date) AS number FROM ${chainDay.table} FINAL
        WHERE ${ofRelays(window)} AND date >= ${days.until} GROUP BY relay_chain, chain`;
    // A parent is in the day of its child, in the last day with blocks before it or, if times do not rise with heights, in
    // any month that holds its height.
    const isOfWindow = sql`date >= ${days.from} AND date < ${days.until}`;
    const monthsOfParents = sql`SELECT toString(arrayJoin(arrayConcat(
          [toYYYYMM(max(before)), toYYYYMM(minIf(after, after >= ${days.until}))],
          arrayMap(of -> of.1, arrayFilter(
            of -> (of.2 <= max(highest) AND of.3 + 1 >= minIf(lowest, highest > 0))
              OR (of.2 < argMinIf(next, after, after >= ${days.until}) AND of.3 + 1 >= argMinIf(next, after, after >= ${days.until})),
            groupArray((month, low, high)))))))
        FROM (
          SELECT relay_chain, chain, toYYYYMM(date) AS month, min(first_block) AS low, max(last_block) AS high,
            minIf(first_block, ${isOfWindow}) AS lowest, maxIf(last_block, ${isOfWindow}) AS highest,
            maxIf(date, date < ${days.from}) AS before, minIf(date, date >= ${days.until}) AS after,
            argMinIf(earliest_block, date, date >= ${days.until}) AS next
          FROM ${chainDay.table} FINAL WHERE ${ofRelays(window)} GROUP BY relay_chain, chain, month)
        GROUP BY relay_chain, chain`;
    const heights = sql`
      SELECT relay_chain, chain, arrayJoin([number, toUInt64(greatest(number, 1) - 1)])
      FROM (SELECT relay_chain, chain, number FROM ${canonicalBlocks(window)} UNION ALL ${following})`;
    // If times do not rise with heights, days with other blocks can lie between a parent and its child. A change
    // of a day recomputes only the empty days next to it, so only the days next to an empty day may decide its row.
    const afterEmptyDays = sql`SELECT relay_chain, chain, earliest_block FROM (
        SELECT relay_chain, chain, earliest_block,
          lagInFrame(latest_block) OVER (PARTITION BY relay_chain, chain ORDER BY date) AS block_before
        FROM ${chainDay.table} FINAL WHERE ${ofRelays(window)})
      WHERE earliest_block = block_before + 1`;
    const pairs = sql`
      SELECT relay_chain, chain, number, assumeNotNull(time) AS child_time, toDate(child_time) AS child_day, isNotNull(time) AS timed,
        lagInFrame(number) OVER previous AS parent_number,
        lagInFrame(hash) OVER previous AS hash_before,
        lagInFrame(time) OVER previous AS parent_time,
        number > 0 AND parent_number = number - 1 AND hash_before = parent_hash AND isNotNull(parent_time) AS known,
        toDate(assumeNotNull(parent_time)) AS parent_day,
        dateDiff('millisecond', assumeNotNull(parent_time), child_time) AS gap
      FROM (SELECT * FROM ${blocks} FINAL
        WHERE (${ofMonths(window)} OR _partition_id IN (${monthsOfParents}))
          AND ${ofRelays(window)} AND (relay_chain, chain, number) IN (${heights})
          AND rank NOT IN (SELECT rank FROM ${replacedBlocks} WHERE ${ofRelays(window)}))
      WINDOW previous AS (PARTITION BY relay_chain, chain ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)`;
    return sql`
      SELECT hour, relay_chain, chain, sum(known_gap) AS evaluated,
        sum(known_gap AND of_gap <= 60000) AS on_time, maxOrNull(if(known_gap, of_gap, NULL)) / 1000 AS max_gap_seconds,
        sum(is_block) AS num_blocks
      FROM (
        SELECT relay_chain, chain, arrayJoin(arrayPushFront(
            arrayMap(n -> (toDateTime64(parent_day + n, 3, 'UTC'), toUInt8(0), toInt64(0), toUInt8(0)),
              range(1, if(known AND child_day > parent_day AND (relay_chain, chain, number) IN (${afterEmptyDays}),
                toUInt32(child_day - parent_day), 1))),
            (${hourSql('child_time')}, toUInt8(known), toInt64(gap), toUInt8(1)))) AS part,
          part.1 AS hour, part.2 AS known_gap, part.3 AS of_gap, part.4 AS is_block
        FROM (${pairs}) WHERE timed
      )
      WHERE hour >= ${window.from} AND hour < ${window.until}
      GROUP BY hour, relay_chain, chain`;
  },
  endpoints: [],
});
