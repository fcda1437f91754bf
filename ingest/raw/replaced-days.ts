import { literal, raw, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import type { BlockHead } from '../log/envelope.ts';
import { blocks } from './tables.ts';

export interface Day {
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
}

/** A condition of one chain, and the heights that are about to be loaded of it. */
type Heights = readonly [chain: string, heights: readonly bigint[]];

const HEIGHTS_PER_QUERY = 10_000;

/** The days of the stored blocks that blocks of these heads take the place of. */
export async function replacedDays(
  store: Store,
  heads: readonly Pick<BlockHead, 'relay_chain' | 'chain' | 'number'>[],
): Promise<Day[]> {
  const days: Day[] = [];
  for (let i = 0; i < heads.length; i += HEIGHTS_PER_QUERY) {
    const chains = byChain(heads.slice(i, i + HEIGHTS_PER_QUERY));
    if (await areAnyStored(store, chains)) days.push(...(await daysOf(store, chains)));
  }
  return days;
}

function byChain(heads: readonly Pick<BlockHead, 'relay_chain' | 'chain' | 'number'>[]): Heights[] {
  const chains = Map.groupBy(
    heads,
    (head) => `relay_chain = ${literal(head.relay_chain)} AND chain = ${literal(head.chain)}`,
  );
  return [...chains].map(([chain, some]) => [chain, some.map(({ number }) => BigInt(number))]);
}

/** Most loads bring new heights: asking by the ends of their range takes a tenth of the time of naming each. */
async function areAnyStored(store: Store, chains: readonly Heights[]): Promise<boolean> {
  const ranges = chains.map(
    ([chain, heights]) =>
      `(${chain} AND number BETWEEN ${heights.reduce(smaller)} AND ${heights.reduce(larger)})`,
  );
  const some = await store.rows(sql`SELECT 1 FROM ${blocks} WHERE ${raw(ranges.join(' OR '))} LIMIT 1`);
  return some.length > 0;
}

function daysOf(store: Store, chains: readonly Heights[]): Promise<Day[]> {
  const either = chains.map(([chain, heights]) => `(${chain} AND number IN (${heights.join(', ')}))`);
  return store.rows<Day>(sql`
    SELECT relay_chain, chain, toString(toDate(assumeNotNull(time))) AS day
    FROM ${blocks} FINAL WHERE (${raw(either.join(' OR '))}) AND isNotNull(time)
    GROUP BY ALL`);
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b);
const larger = (a: bigint, b: bigint) => (a > b ? a : b);
