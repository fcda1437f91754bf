import type { Store } from '../../infra/ports.ts';
import { raw, sql } from '../../infra/sql.ts';
import { canonicalBlocks, hasEndedLoad } from '../../ingest/raw/canonical.ts';
import { ALL_TIME, type DaysWithBlocks } from '../planner/plan.ts';
import { dayNumber } from '../planner/ranges.ts';
import type { NumberedDirtyDay } from './dirty-days.ts';

export interface ComputedChain {
  readonly relay_chain: string;
  readonly chain: string;
  readonly as_of: string;
}

interface NewestOptions {
  /** True: only chains whose newest day is one of the last days. False: only the other chains. */
  readonly isOfLastDays: boolean;
  readonly lastDaysFrom: string;
  /** All loads up to this number have ended. */
  readonly loaded: bigint;
  /** The days that the round computes. */
  readonly days: readonly NumberedDirtyDay[];
  /** All days with blocks. */
  readonly daysWithBlocks: DaysWithBlocks;
  /** The first hour or day that the round computes. */
  readonly from: string | undefined;
}

/**
 * The newest block of each chain with dirty days, from `from` on. Counts only loads that have ended, because a running
 * load may have written only some tables.
 */
export async function readNewestBlocks(
  store: Store,
  { isOfLastDays, lastDaysFrom, loaded, days, daysWithBlocks, from = ALL_TIME.until }: NewestOptions,
): Promise<readonly ComputedChain[]> {
  const dirty = new Set(days.flatMap(({ stream, relay_chain }) => (stream === 'blocks' ? relay_chain : [])));
  const isOfThese = (day: number) => day >= dayNumber(lastDaysFrom) === isOfLastDays;
  // Years of blocks may follow an old day, nearly all of chains whose newest day is one of the last days.
  const chains = [...daysWithBlocks].flatMap(([key, own]) => {
    const [relay = '', chain = ''] = key.split('/');
    return dirty.has(relay) && isOfThese(own.at(-1) ?? 0) ? [[relay, chain] as const] : [];
  });
  if (chains.length === 0) return [];
  const relays = [...new Set(chains.map(([relay]) => relay))].sort();
  const window = { ...ALL_TIME, relays, from: isOfLastDays && from < lastDaysFrom ? lastDaysFrom : from };
  // A list of the heights of years would take gigabytes.
  const found = isOfLastDays ? canonicalBlocks(window) : canonicalBlocks(window, '*', raw('1'));
  // Likewise, only the last days look up later loads that have ended: for old days this would read years of blocks.
  const newest = await store.rows<ComputedChain>(
    sql`SELECT relay_chain, chain, max(assumeNotNull(time)) AS as_of
      FROM ${found} WHERE ${hasEndedLoad(window, { upTo: loaded.toString(), areNoted: isOfLastDays })}
        AND relay_chain || '/' || chain IN ${chains.map(([relay, chain]) => `${relay}/${chain}`)}
      GROUP BY relay_chain, chain`,
  );
  const isDirty = dirtyTimesOf(days);
  return newest.filter((found) => isOfThese(dayNumber(found.as_of.slice(0, 10))) && isDirty(found));
}

/** Returns a test for blocks in days and hours that the round computes. Other blocks were loaded after its plan. */
function dirtyTimesOf(days: readonly NumberedDirtyDay[]): (block: ComputedChain) => boolean {
  const keyOf = (relay: string, chain: string, time: string) => `${relay}/${chain}/${time}`;
  const times = new Set(
    days
      .filter(({ stream }) => stream === 'blocks')
      .flatMap(({ relay_chain, chain, day, hours }) =>
        (hours ?? ['']).map((hour) => keyOf(relay_chain, chain, `${day}/${hour}`)),
      ),
  );
  return ({ relay_chain, chain, as_of }) => {
    const day = as_of.slice(0, 10);
    return ['', Number(as_of.slice(11, 13))].some((hour) =>
      times.has(keyOf(relay_chain, chain, `${day}/${hour}`)),
    );
  };
}
