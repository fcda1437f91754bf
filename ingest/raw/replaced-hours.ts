import type { Store } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import { hourSql } from './canonical.ts';
import { type ChainHeight, childrenOf, chunkHeights, type HeightsOfChain, isAtHeights } from './heights.ts';
import { blocks, replacedBlocks } from './tables.ts';

/** An hour of a chain, as `YYYY-MM-DD HH:00:00`. */
export interface ChainHour {
  readonly relay_chain: string;
  readonly chain: string;
  readonly hour: string;
}

/** The hours of the canonical blocks at these heights. */
export async function readHoursOfHeights(store: Store, heads: readonly ChainHeight[]): Promise<ChainHour[]> {
  const hours: ChainHour[] = [];
  for (const chains of chunkHeights(heads)) {
    const held = await store.rows<ChainHour>(sql`
      SELECT relay_chain, chain, ${hourTextSql('assumeNotNull(time)')} AS hour
      FROM ${blocks} FINAL WHERE ${isAtHeights(chains)} AND isNotNull(time)
      GROUP BY ALL`);
    hours.push(...held);
  }
  return hours;
}

interface ReplacedBlock extends ChainHour {
  readonly number: string;
  readonly time: string;
  readonly rank: string;
  readonly isTimed: boolean;
  readonly isOfOtherMonth: boolean;
}

/**
 * Records stored versions at these heights that a version in another month replaced. Returns the hours of all replaced
 * versions and of misdated children. Call it after each load that may replace a version, or whose blocks have stored
 * children. Versions in two months are never merged, so the last of several concurrent loaders finds all of them.
 */
export async function recordReplacedBlocks(
  store: Store,
  heads: readonly ChainHeight[],
): Promise<ChainHour[]> {
  const replaced: ReplacedBlock[] = [];
  for (const chains of chunkHeights(heads)) replaced.push(...(await replacedOf(store, chains)));
  await store.insert(
    replacedBlocks,
    replaced
      .filter(({ isOfOtherMonth }) => isOfOtherMonth)
      .map(({ relay_chain, chain, number, time, rank }) => ({ relay_chain, chain, number, time, rank })),
  );
  return replaced
    .filter(({ isTimed }) => isTimed)
    .map(({ relay_chain, chain, hour }) => ({ relay_chain, chain, hour }));
}

export const hourTextSql = (time: string): Sql => sql`toString(toDateTime64(${hourSql(time)}, 0, 'UTC'))`;

/** Selects replaced versions. A version without a timestamp has the epoch as its time. */
const replacedAmong = (heights: Sql): Sql => sql`
  SELECT relay_chain, chain, number, ifNull(version.1, toDateTime64(0, 3, 'UTC')) AS time, version.2 AS rank,
    isNotNull(version.1) AS isTimed, toYYYYMM(time) != toYYYYMM(ifNull(held_at, toDateTime64(0, 3, 'UTC'))) AS isOfOtherMonth
  FROM (
    SELECT relay_chain, chain, number, groupArray((time, rank)) AS versions, argMax(tuple(time), rank).1 AS held_at,
      max(rank) AS held
    FROM ${blocks} WHERE ${heights}
    GROUP BY relay_chain, chain, number HAVING count() > 1
    SETTINGS optimize_aggregation_in_order = 1
  ) ARRAY JOIN versions AS version
  WHERE version.2 != held`;

/**
 * Children dated before the hour of their parent, or more than a day after it. A parent that arrives late changes the
 * interval before its child, which the uptime uses. The dirty hour of the parent invalidates the hours up to the end of
 * the next day with blocks, which may not include such a child.
 */
const misdatedChildren = (chains: readonly HeightsOfChain[]): Sql => sql`
  SELECT relay_chain, chain, number, child.time AS time, rank, 1 AS isTimed, 0 AS isOfOtherMonth
  FROM (SELECT relay_chain, chain, number, toUInt64(number - 1) AS height, assumeNotNull(stored.time) AS time, rank
    FROM ${blocks} AS stored WHERE ${isAtHeights(childrenOf(chains))} AND isNotNull(stored.time)) AS child
  INNER JOIN (SELECT relay_chain, chain, number AS height, assumeNotNull(stored.time) AS time
    FROM ${blocks} AS stored WHERE ${isAtHeights(chains)} AND isNotNull(stored.time)) AS parent USING (relay_chain, chain, height)
  WHERE child.time < ${hourSql('parent.time')} OR toDate(child.time) > toDate(parent.time) + 1`;

const replacedOf = (store: Store, chains: readonly HeightsOfChain[]): Promise<ReplacedBlock[]> =>
  store.rows<ReplacedBlock>(sql`
    SELECT relay_chain, chain, toString(number) AS number, toString(time) AS time, ${hourTextSql('found.time')} AS hour,
      toString(rank) AS rank, isTimed, isOfOtherMonth
    FROM (${replacedAmong(isAtHeights(chains))} UNION ALL ${misdatedChildren(chains)}) AS found`);
