import type { Store } from '../../infra/ports.ts';
import { type Sql, sql } from '../../infra/sql.ts';
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
import { palletsIn, type StreamTables } from '../planner/plan.ts';

export const STREAM_TABLES: StreamTables = {
  blocks: [blocks.name, extrinsics.name, events.name, calls.name],
  snapshots: [snapshots.name],
  prices: [prices.name],
  [UNTIMED]: [UNTIMED],
};

/**
 * The values of `pallet` of dirty days that invalidate any of these metrics. The value is empty for the blocks, snapshots
 * and prices themselves, and `ANY_PALLET` if a block was replaced.
 */
export function palletsOf(metrics: readonly MaterializedMetric[]): string[] {
  return ['', ANY_PALLET, ...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric))))];
}

export interface NumberedDirtyDay extends DirtyDay {
  /** Number of the last load that changed the day. */
  readonly sequence: string;
}

interface DirtyScope {
  /** Only changes by loads above this number. */
  readonly after: bigint;
  readonly pallets: readonly string[];
  /** Only this day and later days. */
  readonly from?: string;
  /** Only days before this one. */
  readonly before?: string;
}

function isDirty({ after, pallets, from, before }: DirtyScope): Sql {
  const isFrom = from === undefined ? sql`` : sql` AND dirty.day >= ${from}`;
  const isBefore = before === undefined ? sql`` : sql` AND dirty.day < ${before}`;
  return sql`dirty.sequence > ${after}${isFrom}${isBefore} AND pallet IN ${pallets}`;
}

export async function readDirty(store: Store, scope: DirtyScope): Promise<readonly NumberedDirtyDay[]> {
  const days = await store.rows<NumberedDirtyDay>(
    sql`SELECT stream, pallet, relay_chain, chain, toString(dirty.day) AS day, toString(max(dirty.sequence)) AS sequence
      FROM ${dirtyDays} AS dirty WHERE ${isDirty(scope)}
      GROUP BY stream, pallet, relay_chain, chain, dirty.day`,
  );
  return withPallets(store, days, { whereLost: isDirty(scope), pallets: scope.pallets });
}

/**
 * If a day lost blocks, sets its `pallets` to all pallets that its blocks ever had, because no other pallet can have lost
 * facts. A load records the pallets of its blocks by day, and the records stay when the blocks are replaced.
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

/** The first and the last dirty day of each chain, stream and pallet. */
export async function readEndsOfDirtyDays(
  store: Pick<Store, 'rows'>,
  scope: DirtyScope,
): Promise<readonly DirtyDay[]> {
  const rows = await store.rows<Omit<DirtyDay, 'day'> & { first: string; last: string }>(
    sql`SELECT stream, pallet, relay_chain, chain, toString(min(day)) AS first, toString(max(day)) AS last
      FROM ${dirtyDays} AS dirty WHERE ${isDirty(scope)}
      GROUP BY stream, pallet, relay_chain, chain`,
  );
  return rows.flatMap(({ first, last, ...chain }) => [
    { ...chain, day: first },
    { ...chain, day: last },
  ]);
}

/** Counts dirty days, one for each chain and day. */
export async function countDirtyDays(store: Pick<Store, 'rows'>, scope: DirtyScope): Promise<number> {
  const [row] = await store.rows<{ days: number }>(
    sql`SELECT uniqExact(relay_chain, chain, day) AS days FROM ${dirtyDays} AS dirty WHERE ${isDirty(scope)}`,
  );
  return row?.days ?? 0;
}

/** Every day with data from `from` to before `until`, as if all its pallets had changed. */
export function readDaysToRebuild(store: Store, from: string, until: string): Promise<readonly DirtyDay[]> {
  return store.rows<DirtyDay>(
    sql`SELECT DISTINCT stream, ${ANY_PALLET} AS pallet, relay_chain, chain, toString(day) AS day
      FROM ${dirtyDays} AS dirty
      WHERE dirty.day >= ${from} AND dirty.day < ${until} AND dirty.pallet IN ('', ${ANY_PALLET})`,
  );
}
