import { DATABASE, raw, sql } from '../../infra/clickhouse/sql.ts';
import { Mutex } from '../../infra/coordination/lock.ts';
import type { Store } from '../../infra/ports.ts';
import { blocks } from '../../ingest/raw/tables.ts';

/** What is missing, as inclusive ranges: the first ones, how many there are, and how much all of them hold. */
export interface Missing<Point> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly { readonly from: Point; readonly to: Point }[];
}

/** So many ranges are told; the rest is counted. */
export const RANGES_MAX = 1000;

/** How a query tells what is missing. */
export interface MissingRow<Point = string> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly (readonly [Point, Point])[];
}

export function missing<Point>(row: MissingRow<Point> | undefined): Missing<Point> {
  return {
    total: row?.total ?? 0,
    ranges_total: row?.ranges_total ?? 0,
    ranges: (row?.ranges ?? []).map(([from, to]) => ({ from, to })),
  };
}

export interface ChainHeights {
  readonly relay_chain: string;
  readonly chain: string;
  readonly blocks: number;
  readonly lowest_block: number;
  readonly highest_block: number;
  readonly newest_block_at: string | null;
  /** Blocks without a timestamp: stored, and in no metric. */
  readonly untimed_blocks: number;
  readonly missing_blocks: Missing<number>;
}

interface Scan {
  readonly began: number;
  /** The parts of the table at that time: the answer holds for as long as they are the same. */
  readonly parts: string;
  readonly heights: readonly ChainHeights[];
}

const scans = new WeakMap<Store, { turn: Mutex; last: Scan | null }>();

/** A scan of a large store takes seconds, and anybody may ask: one at a time, and only after a change. */
export function readHeights(store: Store): Promise<readonly ChainHeights[]> {
  const known = scans.get(store) ?? { turn: new Mutex(), last: null };
  scans.set(store, known);
  const asked = performance.now();
  return known.turn.run(async () => {
    if (known.last && known.last.began >= asked) return known.last.heights;
    const began = performance.now();
    const parts = await partsOf(store);
    const heights = known.last?.parts === parts ? known.last.heights : await scanHeights(store);
    known.last = { began, parts, heights };
    return heights;
  });
}

async function partsOf(store: Store): Promise<string> {
  const [row] = await store.rows<{ parts: string }>(
    sql`SELECT toString(groupBitXor(cityHash64(name))) AS parts FROM system.parts
      WHERE database = ${DATABASE} AND table = ${blocks.name} AND active`,
  );
  return row?.parts ?? '';
}

async function scanHeights(store: Store): Promise<ChainHeights[]> {
  const rows = await store.rows<Omit<ChainHeights, 'missing_blocks'> & MissingRow<number>>(sql`
    SELECT relay_chain, chain, count() AS blocks, min(number) AS lowest_block, max(number) AS highest_block,
      max(time) AS newest_block_at, countIf(isNull(time)) AS untimed_blocks,
      highest_block - lowest_block + 1 - blocks AS total, countIf(number > previous + 1) AS ranges_total,
      groupArraySortedIf(${raw(String(RANGES_MAX))})((previous + 1, number - 1), number > previous + 1) AS ranges
    FROM (
      SELECT relay_chain, chain, number, time, lagInFrame(number, 1, number) OVER (
        PARTITION BY relay_chain, chain ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous
      FROM ${blocks} FINAL
    ) GROUP BY relay_chain, chain ORDER BY relay_chain, chain`);
  return rows.map(({ total, ranges_total, ranges, ...chain }) => ({
    ...chain,
    missing_blocks: missing({ total, ranges_total, ranges }),
  }));
}
