import { type Sql, sql } from '../../../infra/sql.ts';
import { canonicalUntimed, ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { count, day, name } from '../../columns.ts';
import { storedRun } from '../activity/stored-run.ts';

export const heatmapColumns = (
  title: string,
  doc: string,
  options: { readonly nullable?: boolean } = {},
) => ({
  relay_chain: name('relay chain', { title: 'Relay chain' }),
  chain: name('asset hub', { title: 'Chain' }),
  date: day('UTC day of the blocks', { title: 'Day' }),
  count: count(doc, { title, ...options }),
});

/** Counts by day and asset hub. `counts` selects `relay_chain`, `chain`, `date` and `num`, which is null if unknown. */
export const heatmap = (window: Window, counts: Sql): Sql => sql`
  SELECT relay_chain, chain, date, if(is_counted = 1, num, 0) AS count
  FROM (${days(window)}) AS days
  LEFT JOIN (SELECT *, 1 AS is_counted FROM (${counts})) AS counts USING (relay_chain, chain, date)
  WHERE (is_counted = 1 AND (isNull(num) OR num > 0)) OR is_complete`;

/**
 * Days with blocks. A day is complete if each of its runs of heights adjoins the stored runs before and after it. Blocks
 * without a timestamp belong to no day, but they fill holes between runs.
 */
function days(window: Window): Sql {
  const runs = sql`SELECT relay_chain, chain, toNullable(date) AS day_of, first_block, last_block
    FROM ${storedRun.table} FINAL WHERE ${ofRelays(window)}`;
  const ofTheseChains = sql`(relay_chain, chain) IN (
    SELECT relay_chain, chain FROM ${storedRun.table} WHERE ${ofRelays(window)})`;
  const untimed = sql`SELECT relay_chain, chain, NULL AS day_of, number AS first_block, number AS last_block
    FROM ${canonicalUntimed(ofTheseChains)}`;
  return sql`
    SELECT relay_chain, chain, assumeNotNull(day_of) AS date,
      min(ifNull(block_before + 1 = first_block, 1) AND ifNull(block_after = last_block + 1, 1)) AS is_complete
    FROM (
      SELECT relay_chain, chain, day_of, first_block, last_block,
        lagInFrame(toNullable(last_block)) OVER by_height AS block_before,
        leadInFrame(toNullable(first_block)) OVER by_height AS block_after
      FROM (${runs} UNION ALL ${untimed})
      WINDOW by_height AS (PARTITION BY relay_chain, chain ORDER BY first_block
        ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING))
    WHERE isNotNull(day_of) GROUP BY relay_chain, chain, date`;
}
