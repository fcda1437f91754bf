import { readPartitions, type StoredPartition } from '../../infra/clickhouse/stored-partitions.ts';
import { Mutex } from '../../infra/coordination/lock.ts';
import type { Store } from '../../infra/ports.ts';
import { raw, type Sql, sql } from '../../infra/sql.ts';
import { isOutdatedBlock } from '../../ingest/raw/decoders.ts';
import { blocks, replacedBlocks } from '../../ingest/raw/tables.ts';

/** Missing ranges, inclusive: the first ones, their number, and the number of points in all of them. */
export interface Missing<Point> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly { readonly from: Point; readonly to: Point }[];
}

/** Most ranges that are listed; the others only count. */
export const RANGES_MAX = 1000;

/** The columns of a query for missing ranges. */
export interface MissingRow<Point = string> {
  readonly total: number;
  readonly ranges_total: number;
  readonly ranges: readonly (readonly [Point, Point])[];
}

export function toMissing<Point>(row: MissingRow<Point> | undefined): Missing<Point> {
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
  /** Blocks without a timestamp: stored, but in no metric. */
  readonly untimed_blocks: number;
  /** Blocks that have an extrinsic without exactly one outcome event. */
  readonly inconsistent_blocks: number;
  /** Blocks that another decoder version loaded. Ingest them again to apply the current one. */
  readonly outdated_blocks: number;
  readonly missing_blocks: Missing<number>;
}

/** The heights of the blocks of one partition. */
interface PartitionHeights {
  /** A hash of the active parts; the heights are valid until it changes. */
  readonly parts: string;
  readonly chains: readonly ChainHeights[];
}

interface Scan {
  readonly began: number;
  /** A hash of the parts of the table of replaced blocks. */
  readonly replaced: string;
  readonly partitions: ReadonlyMap<string, PartitionHeights>;
  readonly heights: readonly ChainHeights[];
}

const scans = new WeakMap<Pick<Store, 'rows'>, { mutex: Mutex; last: Scan | null }>();

/**
 * Reads the heights of every chain. A scan takes seconds in a large store, so one runs at a time and reads only
 * partitions whose parts changed.
 */
export function readHeights(store: Pick<Store, 'rows'>): Promise<readonly ChainHeights[]> {
  const scan = scans.get(store) ?? { mutex: new Mutex(), last: null };
  scans.set(store, scan);
  const requestedAt = performance.now();
  return scan.mutex.run(async () => {
    if (scan.last && scan.last.began >= requestedAt) return scan.last.heights;
    scan.last = await rescan(store, scan.last, performance.now());
    return scan.last.heights;
  });
}

async function rescan(store: Pick<Store, 'rows'>, last: Scan | null, began: number): Promise<Scan> {
  const stored = await readPartitions(store, [blocks, replacedBlocks]);
  const replaced = stored.find(({ table }) => table === replacedBlocks.name)?.parts ?? '';
  const ofBlocks = stored.filter(({ table }) => table === blocks.name);
  const isKept = ({ partition, parts }: Pick<StoredPartition, 'partition' | 'parts'>) =>
    last?.replaced === replaced && last.partitions.get(partition)?.parts === parts;
  const changed = ofBlocks.filter((one) => !isKept(one));
  if (last && changed.length === 0 && last.partitions.size === ofBlocks.length) return { ...last, began };
  const scanned = await scanPartitions(
    store,
    changed.map(({ partition }) => partition),
  );
  const partitions = new Map(
    ofBlocks.map(({ partition, parts }): [string, PartitionHeights] => [
      partition,
      {
        parts,
        chains: isKept({ partition, parts })
          ? (last?.partitions.get(partition)?.chains ?? [])
          : scanned.filter((row) => row.partition === partition).map(chainHeights),
      },
    ]),
  );
  const heights = joinPartitions([...partitions.values()].flatMap(({ chains }) => chains));
  return { began, replaced, partitions, heights: heights ?? (await scanAll(store)) };
}

type ScannedRow = Omit<ChainHeights, 'missing_blocks'> & MissingRow<number> & { readonly partition: string };

const scanPartitions = (
  store: Pick<Store, 'rows'>,
  partitions: readonly string[],
): Promise<readonly ScannedRow[]> =>
  partitions.length === 0
    ? Promise.resolve([])
    : scan(
        store,
        sql`_partition_id`,
        sql`_partition_id IN ${partitions} AND rank NOT IN (SELECT rank FROM ${replacedBlocks})`,
      );

async function scanAll(store: Pick<Store, 'rows'>): Promise<ChainHeights[]> {
  return (await scan(store, sql`''`, sql`1`)).map(chainHeights);
}

function scan(store: Pick<Store, 'rows'>, partition: Sql, where: Sql): Promise<ScannedRow[]> {
  const statement = sql`
    SELECT partition, relay_chain, chain, count() AS blocks, min(number) AS lowest_block, max(number) AS highest_block,
      max(time) AS newest_block_at, countIf(isNull(time)) AS untimed_blocks, countIf(is_outdated) AS outdated_blocks,
      countIf(unclear_extrinsics > 0) AS inconsistent_blocks,
      highest_block - lowest_block + 1 - blocks AS total, countIf(number > previous + 1) AS ranges_total,
      groupArraySortedIf(${raw(String(RANGES_MAX))})((previous + 1, number - 1), number > previous + 1) AS ranges
    FROM (
      SELECT ${partition} AS partition, relay_chain, chain, number, time, unclear_extrinsics, ${isOutdatedBlock} AS is_outdated,
        lagInFrame(number, 1, number) OVER (
          PARTITION BY partition, relay_chain, chain ORDER BY number ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous
      FROM ${blocks} FINAL WHERE ${where}
    ) GROUP BY partition, relay_chain, chain ORDER BY relay_chain, chain, partition`;
  // Without its tables, the store cannot answer the statement from a cache that is older than the parts read above.
  return store.rows<ScannedRow>(raw(statement.text));
}

const chainHeights = ({ partition: _, total, ranges_total, ranges, ...chain }: ScannedRow): ChainHeights => ({
  ...chain,
  missing_blocks: toMissing({ total, ranges_total, ranges }),
});

/** Joins the heights of all partitions; null if two partitions of a chain overlap, which should not happen. */
function joinPartitions(parts: readonly ChainHeights[]): ChainHeights[] | null {
  const chains = Map.groupBy(parts, ({ relay_chain, chain }) => `${relay_chain}\n${chain}`);
  const heights: ChainHeights[] = [];
  for (const name of [...chains.keys()].sort()) {
    const [first, ...later] = (chains.get(name) ?? []).sort((a, b) => a.lowest_block - b.lowest_block);
    let whole = first as ChainHeights;
    for (const next of later) {
      if (next.lowest_block <= whole.highest_block) return null;
      whole = append(whole, next);
    }
    heights.push(whole);
  }
  return heights;
}

function append(before: ChainHeights, after: ChainHeights): ChainHeights {
  const from = before.highest_block + 1;
  const to = after.lowest_block - 1;
  const between = to < from ? [] : [{ from, to }];
  const [a, b] = [before.missing_blocks, after.missing_blocks];
  const times = [before.newest_block_at, after.newest_block_at].filter((time) => time !== null).sort();
  return {
    ...after,
    blocks: before.blocks + after.blocks,
    lowest_block: before.lowest_block,
    newest_block_at: times.at(-1) ?? null,
    untimed_blocks: before.untimed_blocks + after.untimed_blocks,
    inconsistent_blocks: before.inconsistent_blocks + after.inconsistent_blocks,
    outdated_blocks: before.outdated_blocks + after.outdated_blocks,
    missing_blocks: {
      total: a.total + b.total + Math.max(0, to - from + 1),
      ranges_total: a.ranges_total + b.ranges_total + between.length,
      ranges: [...a.ranges, ...between, ...b.ranges].slice(0, RANGES_MAX),
    },
  };
}
