import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { ofRelays, type Window } from '../../../ingest/raw/canonical.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { storedRun } from '../activity/stored-run.ts';

// Heatmaps count per day of an asset hub. A day with nothing to count has a row only when no block of it is missing.

export const heatmapColumns = (title: string, doc: string) => ({
  relay_chain: name('relay chain', { title: 'Relay chain' }),
  chain: name('asset hub', { title: 'Chain' }),
  date: day('UTC day of the blocks', { title: 'Day' }),
  count: count(doc, { title }),
});

/** Counts by day and asset hub, from a SELECT of `relay_chain`, `chain`, `date` and `num`. */
export const heatmap = (window: Window, counts: Sql): Sql => sql`
  SELECT relay_chain, chain, date, num AS count
  FROM (SELECT DISTINCT relay_chain, chain, date FROM ${runs(window)}) AS days
  LEFT JOIN (${counts}) AS counts USING (relay_chain, chain, date)
  WHERE num > 0 OR (relay_chain, chain, date) NOT IN (${incompleteDays(window)})`;

const runs = (window: Window) =>
  sql`(SELECT relay_chain, chain, date, first_block, last_block FROM ${storedRun.table} FINAL WHERE ${ofRelays(window)})`;

/**
 * Days next to missing blocks: a run of heights begins or ends on the day, and the height before or after it is not
 * stored, though lower and higher ones are.
 */
function incompleteDays(window: Window): Sql {
  const edges = sql`
    SELECT relay_chain, chain, date, last_block + 1 AS beside FROM ${runs(window)}
    UNION ALL SELECT relay_chain, chain, date, first_block - 1 AS beside FROM ${runs(window)} WHERE first_block > 0`;
  const isHub = sql`(relay_chain, chain) IN (SELECT relay_chain, chain FROM ${runs(window)})`;
  const untimed = sql`
    SELECT relay_chain, chain, number FROM ${blocks} FINAL
    WHERE isNull(time) AND (relay_chain, chain, number) IN (
      SELECT relay_chain, chain, number FROM ${blocks} WHERE ${isHub} AND isNull(time))`;
  const bounds = sql`
    SELECT relay_chain, chain, min(least_of) AS lowest, max(most_of) AS highest
    FROM (
      SELECT relay_chain, chain, first_block AS least_of, last_block AS most_of FROM ${runs(window)}
      UNION ALL SELECT relay_chain, chain, number AS least_of, number AS most_of FROM (${untimed}))
    GROUP BY relay_chain, chain`;
  return sql`
    SELECT edges.relay_chain, edges.chain, date FROM (${edges}) AS edges INNER JOIN (${bounds}) AS bounds USING (relay_chain, chain)
    WHERE beside BETWEEN lowest AND highest AND (edges.relay_chain, edges.chain, beside) NOT IN (
      SELECT relay_chain, chain, number FROM ${blocks} FINAL
      WHERE ${isHub} AND (relay_chain, chain, number) IN (
        SELECT relay_chain, chain, toUInt64(beside) FROM (${edges})))`;
}
