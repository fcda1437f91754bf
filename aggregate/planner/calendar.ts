import type { Store } from '../../infra/ports.ts';
import { type NamedTable, sql } from '../../infra/sql.ts';
import { type RetentionStage, rawRetention } from '../../ingest/raw/retention.ts';
import { ANY_PALLET, blocks, dirtyDays } from '../../ingest/raw/tables.ts';
import type { PlanInput } from './plan.ts';

const DAYS_MAX = 92;
/** Blocks that one statement may read; their ranks take tens of megabytes. */
const BLOCKS_MAX = 500_000;
/** Reading this many blocks takes about as long as planning a statement. */
const VALID_BLOCKS_MAX = 2000;

/** The input of a plan from the store, except the dirty days. */
export type Calendar = Pick<PlanInput, 'days' | 'snapshotDays' | 'daysMax' | 'validDaysMax' | 'frozenBefore'>;
interface CalendarRow {
  readonly what: 'blocks' | 'snapshots' | 'size' | RetentionStage;
  readonly key: string;
  /** Days as numbers since the epoch, sorted. */
  readonly days: readonly number[];
  /** For a stage of retention, the day before which it applies. */
  readonly before: string;
  readonly size: readonly [blocks: number, days: number];
}

const days = sql`arrayMap(d -> toUInt16(d), arraySort(groupArray(day))) AS days, '' AS before, [0, 0] AS size`;
const ofBlocks = (
  blockDays: NamedTable,
  after: bigint,
) => sql`SELECT 'blocks' AS what, concat(relay_chain, '/', chain) AS key, ${days}
  FROM (
    SELECT relay_chain, chain, date AS day FROM ${blockDays} FINAL
    UNION DISTINCT SELECT relay_chain, chain, day FROM ${dirtyDays} AS dirty
      WHERE dirty.sequence > ${after} AND stream = 'blocks' AND pallet IN ('', ${ANY_PALLET})
  ) GROUP BY key`;
const ofSnapshots = sql`SELECT 'snapshots' AS what, relay_chain AS key, ${days}
  FROM (SELECT DISTINCT relay_chain, day FROM ${dirtyDays} WHERE stream = 'snapshots' AND pallet = '') GROUP BY key`;
const ofRetention = sql`SELECT stage AS what, '' AS key, CAST([], 'Array(UInt16)') AS days,
    toString(max(bound.before)) AS before, [0, 0] AS size
  FROM ${rawRetention} AS bound GROUP BY stage`;

/**
 * Reads the days with data in one statement, including days that were changed by loads with a number above `after`, and estimates how many of
 * them fit one window. `blockDays` has a row for each chain and day with blocks.
 */
export async function readCalendar(
  store: Pick<Store, 'rows'>,
  blockDays: NamedTable,
  after: bigint,
): Promise<Calendar> {
  // Without FINAL, a height that was loaded twice counts twice until its rows are merged, which is enough for an estimate.
  const rows = await store.rows<CalendarRow>(
    sql`${ofBlocks(blockDays, after)} UNION ALL ${ofSnapshots} UNION ALL ${ofRetention}
      UNION ALL SELECT 'size', '', [], '', [(SELECT count() FROM ${blocks}),
        (SELECT uniqExact(relay_chain, day) FROM ${dirtyDays} WHERE stream = 'blocks' AND pallet = '')]`,
  );
  const daysOf = (what: CalendarRow['what']) =>
    new Map(rows.filter((row) => row.what === what).map(({ key, days: own }) => [key, own]));
  const [stored = 0, storedDays = 0] = rows.find(({ what }) => what === 'size')?.size ?? [];
  const blocksADay = Math.max(1, stored / Math.max(1, storedDays));
  const frozenBefore = rows.find(({ what }) => what === 'frozen')?.before;
  return {
    days: daysOf('blocks'),
    snapshotDays: daysOf('snapshots'),
    daysMax: Math.min(DAYS_MAX, Math.max(1, Math.floor(BLOCKS_MAX / blocksADay))),
    validDaysMax: Math.floor(VALID_BLOCKS_MAX / blocksADay),
    ...(frozenBefore === undefined ? {} : { frozenBefore }),
  };
}
