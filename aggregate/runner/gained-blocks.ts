import { raw, sql } from '../../infra/clickhouse/sql.ts';
import { HOUR_MS } from '../../infra/days.ts';
import type { KeyValue, Store } from '../../infra/ports.ts';
import { loadedUpTo } from '../../ingest/loads-in-progress.ts';
import {
  canonicalBlocks,
  type GainedBlock,
  type GainedBlocks,
  hourSql,
  isOfEnded,
  type Window,
} from '../../ingest/raw/canonical.ts';
import { blockSequenceSql } from '../../ingest/raw/ordering.ts';
import { ANY_PALLET } from '../../ingest/raw/tables.ts';
import { chainHour } from '../metrics/activity/chain-hour.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { textOfHour } from '../planner/ranges.ts';
import type { NumberedDirtyDay } from './dirty-days.ts';
import { areHoursKnown, type NumberedDirtyHours } from './dirty-hours.ts';
import { computedOf, type Marks } from './lanes.ts';

/** Statements list them: for more blocks, or more hours, than these the hours are read as a whole. */
const BLOCKS_MAX = 500;

interface HourRow {
  readonly relay_chain: string;
  readonly chain: string;
  readonly hour: string;
  /** Whether all blocks of its stored row are canonical. */
  readonly isKept: 0 | 1;
  readonly gained: readonly (readonly [number: string, rank: string, time: string])[];
}

/**
 * The blocks that dirty hours have gained since every metric with these marks was computed, of loads that have ended: of
 * all up to `loaded`, and of those later ones whose blocks are noted. Undefined where they have lost one, where that is
 * not known, and where too many are new. Dirty hours tell of blocks that were replaced; the stored rows tell too, since
 * loaders that store one height at once may not see each other.
 */
export async function readGained(
  store: Pick<Store, 'rows'>,
  dirty: readonly NumberedDirtyHours[],
  marks: readonly Marks[],
  loaded: bigint,
): Promise<GainedBlocks | undefined> {
  if (dirty.length === 0 || dirty.some(({ pallet }) => pallet === ANY_PALLET)) return undefined;
  const since = computedOf(marks, [...new Set(dirty.map(({ day }) => day))]);
  if (since === 0n) return undefined;
  const hours = dirty.flatMap(({ relay_chain, chain, day, hours: ofDay }) =>
    ofDay.map(([hour]) => ({ relay_chain, chain, number: Date.parse(day) / HOUR_MS + hour })),
  );
  if (hours.length > BLOCKS_MAX) return undefined;
  const numbers = hours.map(({ number }) => number);
  const window = {
    relays: [...new Set(hours.map(({ relay_chain }) => relay_chain))].sort(),
    chains: [...new Set(hours.map(({ chain }) => chain))].sort(),
    from: textOfHour(Math.min(...numbers)),
    until: textOfHour(Math.max(...numbers) + 1),
  };
  const sequence = raw(blockSequenceSql('rank'));
  const isCounted = sql`(${sequence} <= up_to OR has(beyond, rank))`;
  // What a metric has not computed may be in the rows of another.
  const isNew = sql`(NOT ${isCounted} OR ${sequence} > ${since}) AND ${isOfEnded(window, { upTo: loaded.toString(), areNoted: true })}`;
  const isDirty = sql`(relay_chain, chain, hour) IN (
    SELECT place[1], place[2], toDateTime64(place[3], 3, 'UTC') FROM (
      SELECT arrayJoin(${hours.map((of) => [of.relay_chain, of.chain, textOfHour(of.number)])}) AS place))`;
  const rows = await store.rows<HourRow>(sql`
    SELECT relay_chain, chain, toString(hour) AS hour, isKept, sum(length(listed)) OVER () AS found,
      if(found > ${BLOCKS_MAX}, [], listed) AS gained
    FROM (SELECT relay_chain, chain, hour,
      groupBitXorIf(cityHash64(rank), ${isCounted}) = any(made_of) AND (any(up_to) > 0 OR any(stored.num_blocks) = 0) AS isKept,
      groupArrayIf(${BLOCKS_MAX + 1})((toString(number), toString(rank), toString(time)), ${isNew}) AS listed
    FROM (SELECT relay_chain, chain, number, rank, assumeNotNull(time) AS time, ${hourSql('time')} AS hour
      FROM ${canonicalBlocks(window)} WHERE ${isDirty}) AS held
    LEFT JOIN (SELECT relay_chain, chain, hour, num_blocks, up_to, beyond, made_of FROM ${chainHour.table} FINAL
      WHERE hour >= ${window.from} AND hour < ${window.until}) AS stored USING (relay_chain, chain, hour)
    GROUP BY relay_chain, chain, hour)`);
  if (rows.some(({ isKept }) => !isKept)) return undefined;
  const times = rows.flatMap(({ gained }) => gained.map(([, , time]) => time)).sort();
  const [first] = times;
  const last = times.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const blocks = rows.flatMap(({ relay_chain, chain, hour, gained }) =>
    gained.map(([number, rank]): GainedBlock => [relay_chain, chain, hour, number, rank]),
  );
  return { loaded: loaded.toString(), first, last, blocks };
}

/**
 * The loads that had ended when a version was taken: rows of a higher version are made of no fewer loads, even where they
 * were planned before.
 */
export async function endedLoads(keyValue: KeyValue, version: bigint): Promise<Pick<Window, 'loaded'>> {
  const upTo = await loadedUpTo(keyValue, version);
  return { loaded: { upTo: upTo.toString(), areNoted: upTo < version } };
}

/** The windows, those told what their hours have gained that can add it to stored rows. */
export const withGained = (
  windows: readonly PlannedWindow[],
  days: readonly NumberedDirtyDay[],
  addBlocks: ReadonlySet<string>,
  gained: GainedBlocks | undefined,
): readonly PlannedWindow[] =>
  gained && areHoursKnown(days)
    ? windows.map((window) =>
        addBlocks.has(window.metric) && !window.mayLoseRows ? { ...window, gained } : window,
      )
    : windows;
