import { sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import { blocks, dirtyDays } from '../../ingest/raw/tables.ts';
import { chainDay } from '../metrics/activity/chain-day.ts';
import type { PlanInput } from './plan.ts';

const DAYS_MAX = 92;
/** Blocks that one statement may read: their ranks take a few tens of megabytes. */
const BLOCKS_MAX = 500_000;

/** The part of a plan's input that is read from the store, besides the dirty days. */
export type Calendar = Pick<PlanInput, 'days' | 'snapshotDays' | 'daysMax'>;
type DaysByKey = { readonly key: string; readonly days: string[] };
const byKey = (rows: readonly DaysByKey[]) => new Map(rows.map(({ key, days }) => [key, days]));

/** Reads the days with data, and estimates how many of them one window may have. */
export async function readCalendar(store: Pick<Store, 'rows'>): Promise<Calendar> {
  const days = sql`arrayMap(d -> toString(d), groupArray(day)) AS days`;
  const [withBlocks, withSnapshots, [size]] = await Promise.all([
    store.rows<DaysByKey>(sql`SELECT concat(relay_chain, '/', chain) AS key, ${days}
        FROM (SELECT relay_chain, chain, date AS day FROM ${chainDay.table} FINAL) GROUP BY key`),
    store.rows<DaysByKey>(sql`SELECT relay_chain AS key, ${days}
        FROM (SELECT DISTINCT relay_chain, day FROM ${dirtyDays} WHERE stream = 'snapshots' AND pallet = '') GROUP BY key`),
    // Without FINAL, a height that was loaded twice counts twice until its rows are merged: an estimate is enough.
    store.rows<{ blocks: number; days: number }>(sql`SELECT (SELECT count() FROM ${blocks}) AS blocks,
        (SELECT uniqExact(relay_chain, day) FROM ${dirtyDays} WHERE stream = 'blocks' AND pallet = '') AS days`),
  ]);
  const blocksADay = Math.max(1, (size?.blocks ?? 0) / Math.max(1, size?.days ?? 0));
  const daysMax = Math.min(DAYS_MAX, Math.max(1, Math.floor(BLOCKS_MAX / blocksADay)));
  return { days: byKey(withBlocks), snapshotDays: byKey(withSnapshots), daysMax };
}
