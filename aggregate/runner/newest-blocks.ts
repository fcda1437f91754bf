import { raw, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import { canonicalBlocks, isOfEnded } from '../../ingest/raw/canonical.ts';
import { type DaysWithBlocks, EVERYTHING } from '../planner/plan.ts';
import { dayNumber } from '../planner/ranges.ts';
import type { NumberedDirtyDay } from './dirty-days.ts';

export interface ComputedChain {
  readonly relay_chain: string;
  readonly chain: string;
  readonly as_of: string;
}

interface NewestOptions {
  /** Of chains whose newest day is one of the last days, or of the other chains. */
  readonly isOfLastDays: boolean;
  readonly lastDaysFrom: string;
  /** Every load up to this number has ended. */
  readonly loaded: bigint;
  /** The days that the round computes. */
  readonly days: readonly NumberedDirtyDay[];
  /** All days with blocks. */
  readonly known: DaysWithBlocks;
  /** The first hour or day that the round computes. */
  readonly from: string | undefined;
}

/**
 * The newest block of each chain of these relay chains, among those from then on. Of loads that have ended: one that
 * runs may have written only some of its tables.
 */
export async function readNewestBlocks(
  store: Store,
  { isOfLastDays, lastDaysFrom, loaded, days, known, from = EVERYTHING.until }: NewestOptions,
): Promise<readonly ComputedChain[]> {
  const dirty = new Set(days.flatMap(({ stream, relay_chain }) => (stream === 'blocks' ? relay_chain : [])));
  const isOfThese = (day: number) => day >= dayNumber(lastDaysFrom) === isOfLastDays;
  // Behind an old day may be years of blocks, nearly all of chains that go on.
  const chains = [...known].flatMap(([key, own]) => {
    const [relay = '', chain = ''] = key.split('/');
    return dirty.has(relay) && isOfThese(own.at(-1) ?? 0) ? [[relay, chain] as const] : [];
  });
  if (chains.length === 0) return [];
  const relays = [...new Set(chains.map(([relay]) => relay))].sort();
  const window = { ...EVERYTHING, relays, from: isOfLastDays && from < lastDaysFrom ? lastDaysFrom : from };
  // To name the heights of years takes gigabytes.
  const found = isOfLastDays ? canonicalBlocks(window) : canonicalBlocks(window, '*', raw('1'));
  const newest = await store.rows<ComputedChain>(
    sql`SELECT relay_chain, chain, max(assumeNotNull(time)) AS as_of
      FROM ${found} WHERE ${isOfEnded(window, { upTo: loaded.toString(), areNoted: isOfLastDays })}
        AND relay_chain || '/' || chain IN ${chains.map(([relay, chain]) => `${relay}/${chain}`)}
      GROUP BY relay_chain, chain`,
  );
  return newest.filter(({ as_of }) => isOfThese(dayNumber(as_of.slice(0, 10))));
}
