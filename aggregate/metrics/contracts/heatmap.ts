import { count, day, name } from '../../../infra/clickhouse/columns.ts';
import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { storedRun } from '../activity/stored-run.ts';

// Heatmaps count per day of an asset hub. A day with nothing to count has a row only when no block of it is missing.

export const heatmapColumns = (doc: string) => ({
  relay_chain: name('relay chain'),
  chain: name('asset hub'),
  date: day('UTC day of the blocks'),
  count: count(doc),
});

/** Counts by day and asset hub, from a SELECT of `chain`, `date` and `num`. */
export const heatmap = (relayChain: string, counts: Sql): Sql => sql`
  SELECT ${relayChain} AS relay_chain, chain, date, num AS count
  FROM (SELECT DISTINCT chain, date FROM ${runs(relayChain)}) AS days
  LEFT JOIN (${counts}) AS counts USING (chain, date)
  WHERE num > 0 OR (chain, date) NOT IN (${incompleteDays(relayChain)})`;

const runs = (relayChain: string) =>
  sql`(SELECT chain, date, first_block, last_block FROM ${storedRun.table} FINAL WHERE relay_chain = ${relayChain})`;

/**
 * Days next to missing blocks: a run of heights begins or ends on the day, and the height before or after it is not
 * stored, though lower and higher ones are.
 */
function incompleteDays(relayChain: string): Sql {
  const edges = sql`
    SELECT chain, date, last_block + 1 AS beside FROM ${runs(relayChain)}
    UNION ALL SELECT chain, date, first_block - 1 AS beside FROM ${runs(relayChain)} WHERE first_block > 0`;
  const isHub = sql`relay_chain = ${relayChain} AND chain IN (SELECT chain FROM ${runs(relayChain)})`;
  const untimed = sql`
    SELECT chain, number FROM ${blocks} FINAL
    WHERE isNull(time) AND (relay_chain, chain, number) IN (
      SELECT relay_chain, chain, number FROM ${blocks} WHERE ${isHub} AND isNull(time))`;
  const bounds = sql`
    SELECT chain, min(least_of) AS lowest, max(most_of) AS highest
    FROM (
      SELECT chain, first_block AS least_of, last_block AS most_of FROM ${runs(relayChain)}
      UNION ALL SELECT chain, number AS least_of, number AS most_of FROM (${untimed}))
    GROUP BY chain`;
  return sql`
    SELECT edges.chain, date FROM (${edges}) AS edges INNER JOIN (${bounds}) AS bounds USING (chain)
    WHERE beside BETWEEN lowest AND highest AND (edges.chain, beside) NOT IN (
      SELECT chain, number FROM ${blocks} FINAL
      WHERE ${isHub} AND (relay_chain, chain, number) IN (
        SELECT ${relayChain}, chain, toUInt64(beside) FROM (${edges})))`;
}
