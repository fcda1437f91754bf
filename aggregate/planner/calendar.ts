import { type Sql, sql } from '../../infra/clickhouse/sql.ts';
import type { Store } from '../../infra/ports.ts';
import { type RetentionStage, rawRetention } from '../../ingest/raw/retention.ts';
import { blocks, dirtyDays } from '../../ingest/raw/tables.ts';
import { chainDay } from '../metrics/activity/chain-day.ts';
import type { PlanInput } from './plan.ts';

const DAYS_MAX = 92;
/** Blocks that one statement may read: their ranks take a few tens of megabytes. */
const BLOCKS_MAX = 500_000;
/** Blocks that a statement reads in about the time in which the engine plans it. */
const VALID_BLOCKS_MAX = 2000;

/** The part of a plan's input that is read from the store, besides the dirty days. */
export type Calendar = Pick<PlanInput, 'days' | 'snapshotDays' | 'daysMax' | 'validDaysMax' | 'frozenBefore'>;
export interface CalendarRow {
  readonly what: 'blocks' | 'snapshots' | 'size' | RetentionStage;
  readonly partition: string;
  readonly key: string;
  /** Days as numbers since the epoch, sorted. */
  readonly days: readonly number[];
  /** Of retention, the day before which it holds; of a partition, the last load that changed one of its days. */
  readonly before: string;
  /** How many blocks and days are stored. */
  readonly size: readonly [blocks: number, days: number];
}

/** Which days have data. */
export type DaysWithData = Pick<Calendar, 'days' | 'snapshotDays' | 'frozenBefore'>;

const days = sql`arrayMap(d -> toUInt16(d), arraySort(groupArray(day))) AS days, '' AS before, [0, 0] AS size`;
/** By partition, so that each can be kept while it is the same. */
export const ofBlocks = (
  where: Sql,
) => sql`SELECT 'blocks' AS what, partition, concat(relay_chain, '/', chain) AS key, ${days}
  FROM (SELECT _partition_id AS partition, relay_chain, chain, date AS day FROM ${chainDay.table} FINAL WHERE ${where})
  GROUP BY partition, key`;
const ofSnapshots = sql`SELECT 'snapshots' AS what, '' AS partition, relay_chain AS key, ${days}
  FROM (SELECT DISTINCT relay_chain, day FROM ${dirtyDays} WHERE stream = 'snapshots' AND pallet = '') GROUP BY key`;
export const ofRetention = sql`SELECT stage AS what, '' AS partition, '' AS key, CAST([], 'Array(UInt16)') AS days,
    toString(max(bound.before)) AS before, [0, 0] AS size
  FROM ${rawRetention} AS bound GROUP BY stage`;

/** Reads the days with data with one statement, and estimates how many of them one window may have. */
export async function readCalendar(store: Pick<Store, 'rows'>): Promise<Calendar> {
  // Without FINAL, a height that was loaded twice counts twice until its rows are merged: an estimate is enough.
  const rows = await store.rows<CalendarRow>(
    sql`${ofBlocks(sql`1`)} UNION ALL ${ofSnapshots} UNION ALL ${ofRetention}
      UNION ALL SELECT 'size', '', '', [], '', [(SELECT count() FROM ${blocks}),
        (SELECT uniqExact(relay_chain, day) FROM ${dirtyDays} WHERE stream = 'blocks' AND pallet = '')]`,
  );
  const [stored = 0, storedDays = 0] = rows.find(({ what }) => what === 'size')?.size ?? [];
  return { ...daysOfRows(rows), ...limitsOf(stored, storedDays) };
}

/** How many days one window may have, by how many blocks are stored of how many days. */
export function limitsOf(stored: number, storedDays: number): Pick<Calendar, 'daysMax' | 'validDaysMax'> {
  const blocksADay = Math.max(1, stored / Math.max(1, storedDays));
  const daysMax = Math.min(DAYS_MAX, Math.max(1, Math.floor(BLOCKS_MAX / blocksADay)));
  return { daysMax, validDaysMax: Math.floor(VALID_BLOCKS_MAX / blocksADay) };
}

/** Reads the days alone, with a statement for those that change with loads and one for those that change with rounds. */
export async function readDaysWithData(store: Pick<Store, 'rows'>): Promise<DaysWithData> {
  const computed = await store.rows<CalendarRow>(sql`${ofBlocks(sql`1`)} UNION ALL ${ofRetention}`);
  const loaded = await store.rows<CalendarRow>(ofSnapshots);
  return daysOfRows([...computed, ...loaded]);
}

function daysOfRows(rows: readonly CalendarRow[]): DaysWithData {
  const daysOf = (what: CalendarRow['what']) =>
    daysByKey(rows.filter((row) => row.what === what).map(({ key, days: own }) => [key, own]));
  const frozenBefore = frozenIn(rows);
  const known = { days: daysOf('blocks'), snapshotDays: daysOf('snapshots') };
  return frozenBefore === undefined ? known : { ...known, frozenBefore };
}

export const frozenIn = (rows: readonly CalendarRow[]): string | undefined =>
  rows.find(({ what }) => what === 'frozen')?.before;

/** The days of each key, which may have some in each of several partitions. */
export const daysByKey = (some: readonly (readonly [key: string, days: readonly number[]])[]) =>
  new Map(
    [...Map.groupBy(some, ([key]) => key)].map(([key, parts]) => [
      key,
      parts.length === 1 && parts[0] ? parts[0][1] : parts.flatMap(([, own]) => own).sort((a, b) => a - b),
    ]),
  );
