import { literal, raw, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import type { BlockHead } from '../log/envelope.ts';
import { blocks } from './tables.ts';

export interface ChainDay {
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
}

/** A condition that selects one chain, and the heights of it that will be loaded. */
type Heights = readonly [chain: string, heights: readonly bigint[]];

const HEIGHTS_PER_QUERY = 10_000;

/** The days of stored blocks that have the same heights as these. */
export async function replacedDays(
  store: Store,
  heads: readonly Pick<BlockHead, 'relay_chain' | 'chain' | 'number'>[],
): Promise<ChainDay[]> {
  const days: ChainDay[] = [];
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

/** Most loads bring new heights: a query by the ends of their range takes a tenth of the time of one by each height. */
async function areAnyStored(store: Store, chains: readonly Heights[]): Promise<boolean> {
  const ranges = chains.map(
    ([chain, heights]) =>
      `(${chain} AND number BETWEEN ${heights.reduce(smaller)} AND ${heights.reduce(larger)})`,
  );
  const some = await store.rows(sql`SELECT 1 FROM ${blocks} WHERE ${raw(ranges.join(' OR '))} LIMIT 1`);
  return some.length > 0;
}

function daysOf(store: Store, chains: readonly Heights[]): Promise<ChainDay[]> {
  const either = chains.map(([chain, heights]) => `(${chain} AND number IN (${heights.join(', ')}))`);
  return store.rows<ChainDay>(sql`
    SELECT relay_chain, chain, toString(toDate(assumeNotNull(time))) AS day
    FROM ${blocks} FINAL WHERE (${raw(either.join(' OR '))}) AND isNotNull(time)
    GROUP BY ALL`);
}

const smaller = (a: bigint, b: bigint) => (a < b ? a : b);
const larger = (a: bigint, b: bigint) => (a > b ? a : b);
