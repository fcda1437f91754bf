import { sql } from '../../infra/clickhouse/sql.ts';
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
import { dependencies, type MaterializedMetric } from '../metric.ts';
import { type DirtyDay, palletsIn, type StreamTables } from '../planner/plan.ts';

export const STREAM_TABLES: StreamTables = {
  blocks: [blocks.name, extrinsics.name, events.name, calls.name],
  snapshots: [snapshots.name],
  prices: [prices.name],
};

/** Values of `pallet` in the dirty days that invalidate any of these metrics. */
export function palletsOf(metrics: readonly MaterializedMetric[]): string[] {
  return ['', ANY_PALLET, ...new Set(metrics.flatMap((metric) => palletsIn(dependencies(metric))))];
}

export interface NumberedDirtyDay extends DirtyDay {
  /** Of the last load that changed the day. */
  readonly sequence: string;
}

/** Days that loads with higher numbers than `after` have changed. */
export function readDirtyDays(
  store: Store,
  after: bigint,
  pallets: readonly string[],
): Promise<readonly NumberedDirtyDay[]> {
  return store.rows<NumberedDirtyDay>(
    sql`SELECT stream, pallet, relay_chain, chain, toString(day) AS day, toString(max(dirty.sequence)) AS sequence
      FROM ${dirtyDays} AS dirty WHERE dirty.sequence > ${after} AND pallet IN ${pallets}
      GROUP BY stream, pallet, relay_chain, chain, day`,
  );
}

/** The first and the last of those days, of each chain, stream and pallet. */
export async function readEndsOfDirtyDays(
  store: Pick<Store, 'rows'>,
  after: bigint,
  pallets: readonly string[],
): Promise<readonly DirtyDay[]> {
  const rows = await store.rows<Omit<DirtyDay, 'day'> & { first: string; last: string }>(
    sql`SELECT stream, pallet, relay_chain, chain, toString(min(day)) AS first, toString(max(day)) AS last
      FROM ${dirtyDays} AS dirty WHERE dirty.sequence > ${after} AND pallet IN ${pallets}
      GROUP BY stream, pallet, relay_chain, chain`,
  );
  return rows.flatMap(({ first, last, ...chain }) => [
    { ...chain, day: first },
    { ...chain, day: last },
  ]);
}

export async function hasDirtyDays(
  store: Store,
  after: bigint,
  pallets: readonly string[],
): Promise<boolean> {
  const [row] = await store.rows<{ days: number }>(
    sql`SELECT count() AS days FROM ${dirtyDays} AS dirty WHERE dirty.sequence > ${after} AND pallet IN ${pallets}`,
  );
  return (row?.days ?? 0) > 0;
}

/** Every day with data from `from` up to `until`, as if all of its pallets had changed. */
export function readDaysToRebuild(store: Store, from: string, until: string): Promise<readonly DirtyDay[]> {
  return store.rows<DirtyDay>(
    sql`SELECT DISTINCT stream, ${ANY_PALLET} AS pallet, relay_chain, chain, toString(day) AS day
      FROM ${dirtyDays} AS dirty
      WHERE dirty.day >= ${from} AND dirty.day < ${until} AND dirty.pallet IN ('', ${ANY_PALLET})`,
  );
}
