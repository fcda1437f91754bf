import { type Sql, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import {
  ANY_PALLET,
  blocks,
  calls,
  dirtyDays,
  events,
  extrinsics,
  prices,
  snapshots,
} from '../../ingest/raw/tables.ts';
import { UNTIMED } from '../../ingest/raw/untimed.ts';
import { dependencies, type MaterializedMetric } from '../metric.ts';
import type { DirtyDay } from '../planner/dirty-groups.ts';
import { type DaysWithBlocks, palletsIn, type StreamTables } from '../planner/plan.ts';
import { type ComputeLane, isInLane, isMissingInAny, type Marks, otherLane } from './lanes.ts';

export const STREAM_TABLES: StreamTables = {
  blocks: [blocks.name, extrinsics.name, events.name, calls.name],
  snapshots: [snapshots.name],
  prices: [prices.name],
  [UNTIMED]: [UNTIMED],
};

/** Values of `pallet` in the dirty days that invalidate any of these metrics. */
export function palletsOf(metrics: readonly MaterializedMetric[]): string[] {
  return ['', ANY_PALLET, ...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric))))];
}

export interface NumberedDirtyDay extends DirtyDay {
  /** Of the last load that changed the day. */
  readonly sequence: string;
}

/** Dirty days that any metric with these marks lacks. */
interface DirtyScope {
  readonly liveFrom: string;
  readonly marks: readonly Marks[];
  readonly pallets: readonly string[];
}

/** What a round of a lane finds dirty. */
interface DirtyOfRound {
  readonly days: readonly NumberedDirtyDay[];
  /** Of the other lane, the dirty days with blocks by `relay chain/chain`; also chains where only other days are dirty. */
  readonly daysOfOther: DaysWithBlocks;
}

/** Reads with one statement what is dirty, by the marks of the metrics that each lane computes. */
export async function readDirty(
  store: Store,
  lane: ComputeLane,
  {
    liveFrom,
    marks,
    pallets,
  }: Omit<DirtyScope, 'marks'> & { readonly marks: Readonly<Record<ComputeLane, readonly Marks[]>> },
): Promise<DirtyOfRound> {
  const other = otherLane(lane);
  const inScope = (of: ComputeLane) =>
    sql`${isMissingInAny(marks[of])} AND ${isInLane(of, liveFrom)} AND pallet IN ${pallets}`;
  const rows = await store.rows<NumberedDirtyDay & { readonly days: readonly number[] }>(
    sql`SELECT stream, pallet, relay_chain, chain, toString(dirty.day) AS day, toString(max(dirty.sequence)) AS sequence,
        CAST([], 'Array(UInt16)') AS days
      FROM ${dirtyDays} AS dirty WHERE ${inScope(lane)}
      GROUP BY stream, pallet, relay_chain, chain, dirty.day
      UNION ALL
      SELECT '', '', relay_chain, chain, '', '',
        arraySort(groupUniqArrayIf(toUInt16(dirty.day), stream = 'blocks' AND pallet IN ('', ${ANY_PALLET})))
      FROM ${dirtyDays} AS dirty WHERE ${inScope(other)} GROUP BY relay_chain, chain`,
  );
  const days = rows.filter(({ sequence }) => sequence !== '').map(({ days: _days, ...day }) => day);
  return {
    days: await withPallets(store, days, { whereLost: inScope(lane), pallets }),
    daysOfOther: new Map(
      rows
        .filter(({ sequence }) => sequence === '')
        .map(({ relay_chain, chain, days }) => [`${relay_chain}/${chain}`, days]),
    ),
  };
}

/**
 * The days, those that have lost blocks with the pallets that ever stood in them: facts of no other pallet can have
 * gone. A load writes each pallet of its blocks with their day, and what it wrote stays when the blocks are replaced.
 */
async function withPallets(
  store: Store,
  days: readonly NumberedDirtyDay[],
  { whereLost, pallets }: { readonly whereLost: Sql; readonly pallets: readonly string[] },
): Promise<readonly NumberedDirtyDay[]> {
  if (!days.some(({ pallet }) => pallet === ANY_PALLET)) return days;
  const rows = await store.rows<
    Omit<DirtyDay, 'stream' | 'pallet'> & { readonly pallets: readonly string[] }
  >(
    sql`SELECT relay_chain, chain, toString(dirty.day) AS day, arraySort(groupUniqArray(toString(pallet))) AS pallets
      FROM ${dirtyDays} AS dirty
      WHERE stream = 'blocks' AND pallet IN ${pallets}
        AND (relay_chain, chain, dirty.day) IN (
          SELECT relay_chain, chain, dirty.day FROM ${dirtyDays} AS dirty WHERE ${whereLost} AND pallet = ${ANY_PALLET})
      GROUP BY relay_chain, chain, dirty.day`,
  );
  const keyOf = ({ relay_chain, chain, day }: Omit<DirtyDay, 'stream' | 'pallet'>) =>
    `${relay_chain}/${chain}/${day}`;
  const palletsOfDay = new Map(rows.map((row) => [keyOf(row), row.pallets]));
  return days.map((day) =>
    day.pallet === ANY_PALLET ? { ...day, pallets: palletsOfDay.get(keyOf(day)) ?? [] } : day,
  );
}

/** The first and the last dirty day of each lane that a metric with these marks lacks, by chain, stream and pallet. */
export async function readEndsOfDirtyDays(
  store: Pick<Store, 'rows'>,
  { liveFrom, marks, pallets }: DirtyScope,
): Promise<Record<ComputeLane, readonly DirtyDay[]>> {
  const rows = await store.rows<Omit<DirtyDay, 'day'> & { is_live: 0 | 1; first: string; last: string }>(
    sql`SELECT stream, pallet, relay_chain, chain, day >= ${liveFrom} AS is_live,
        toString(min(day)) AS first, toString(max(day)) AS last
      FROM ${dirtyDays} AS dirty WHERE ${isMissingInAny(marks)} AND pallet IN ${pallets}
      GROUP BY stream, pallet, relay_chain, chain, is_live`,
  );
  const endsOf = (lane: ComputeLane) =>
    rows
      .filter(({ is_live }) => (is_live === 1) === (lane === 'live'))
      .flatMap(({ first, last, is_live: _, ...chain }) => [
        { ...chain, day: first },
        { ...chain, day: last },
      ]);
  return { live: endsOf('live'), backfill: endsOf('backfill') };
}

/** Counts the days of chains that any metric with these marks lacks. */
export async function countDirtyDays(
  store: Pick<Store, 'rows'>,
  marks: readonly Marks[],
  pallets: readonly string[],
): Promise<number> {
  const [row] = await store.rows<{ days: number }>(
    sql`SELECT uniqExact(relay_chain, chain, day) AS days FROM ${dirtyDays} AS dirty
      WHERE ${isMissingInAny(marks)} AND pallet IN ${pallets}`,
  );
  return row?.days ?? 0;
}

/** Every day with data from `from` up to `until`, as if all of its pallets had changed. */
export function readDaysToRebuild(store: Store, from: string, until: string): Promise<readonly DirtyDay[]> {
  return store.rows<DirtyDay>(
    sql`SELECT DISTINCT stream, ${ANY_PALLET} AS pallet, relay_chain, chain, toString(day) AS day
      FROM ${dirtyDays} AS dirty
      WHERE dirty.day >= ${from} AND dirty.day < ${until} AND dirty.pallet IN ('', ${ANY_PALLET})`,
  );
}
