import { DATABASE, raw, sql } from '../../infra/clickhouse/sql.ts';
import { Mutex } from '../../infra/coordination/lock.ts';
import type { Store } from '../../infra/ports.ts';
import { isOutdatedBlock } from '../../ingest/raw/decoders.ts';
import { blocks } from '../../ingest/raw/tables.ts';

/** Inclusive ranges that are missing: the first of them, their number, and the number of points in all of them. */
export interface Missing<Point> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly { readonly from: Point; readonly to: Point }[];
}

/** Ranges that are listed; the rest is counted. */
export const RANGES_MAX = 1000;

/** The columns of a query for missing ranges. */
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
  /** Blocks that an earlier version decoded otherwise or may have: ingested again they are as of this version. */
  readonly outdated_blocks: number;
  readonly missing_blocks: Missing<number>;
}

interface Scan {
  readonly began: number;
  /** A hash of the table's active parts: the heights are valid while it is the same. */
  readonly parts: string;
  readonly heights: readonly ChainHeights[];
}

const scans = new WeakMap<Pick<Store, 'rows'>, { mutex: Mutex; last: Scan | null }>();

/** Reads the heights of every chain. A scan of a large store takes seconds, so one runs at a time, after a change only. */
export function readHeights(store: Pick<Store, 'rows'>): Promise<readonly ChainHeights[]> {
  const scan = scans.get(store) ?? { mutex: new Mutex(), last: null };
  scans.set(store, scan);
  const asked = performance.now();
  return scan.mutex.run(async () => {
    if (scan.last && scan.last.began >= asked) return scan.last.heights;
    const began = performance.now();
    const parts = await partsOf(store);
    const heights = scan.last?.parts === parts ? scan.last.heights : await scanHeights(store);
    scan.last = { began, parts, heights };
    return heights;
  });
}

async function partsOf(store: Pick<Store, 'rows'>): Promise<string> {
  const [row] = await store.rows<{ parts: string }>(
    sql`SELECT toString(groupBitXor(cityHash64(name))) AS parts FROM system.parts
      WHERE database = ${DATABASE} AND table = ${blocks.name} AND active`,
  );
  return row?.parts ?? '';
}

async function scanHeights(store: Pick<Store, 'rows'>): Promise<ChainHeights[]> {
  const rows = await store.rows<Omit<ChainHeights, 'missing_blocks'> & MissingRow<number>>(sql`
    SELECT relay_chain, chain, count() AS blocks, min(number) AS lowest_block, max(number) AS highest_block,
      max(time) AS newest_block_at, countIf(isNull(time)) AS untimed_blocks, countIf(is_outdated) AS outdated_blocks,
      highest_block - lowest_block + 1 - blocks AS total, countIf(number > previous + 1) AS ranges_total,
      groupArraySortedIf(${raw(String(RANGES_MAX))})((previous + 1, number - 1), number > previous + 1) AS ranges
    FROM (
      SELECT relay_chain, chain, number, time, ${isOutdatedBlock} AS is_outdated, lagInFrame(number, 1, number) OVER (
        PARTITION BY relay_chain, chain ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous
      FROM ${blocks} FINAL
    ) GROUP BY relay_chain, chain ORDER BY relay_chain, chain`);
  return rows.map(({ total, ranges_total, ranges, ...chain }) => ({
    ...chain,
    missing_blocks: missing({ total, ranges_total, ranges }),
  }));
}
