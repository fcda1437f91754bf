import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { isOfOneDay, ofRelays, type Window, within } from '../../ingest/raw/canonical.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import type { MaterializedMetric, WindowSize } from '../metric.ts';
import type { PlannedWindow } from '../planner/plan.ts';
import { DAY_HOURS, formatHour } from '../planner/ranges.ts';

/** Number of parts, by blocks, of a window that needs too much memory. */
const PARTS = 4;
/** Hours of the smallest window; metrics of other sizes are not split. */
const UNIT_HOURS: Partial<Record<WindowSize, number>> = { hourly: 1, daily: DAY_HOURS };

/** Splits into days first, because a window of whole days replaces all rows of its days. */
const unitOf = (materialized: WindowSize, window: Window): number | undefined => {
  const least = UNIT_HOURS[materialized];
  return least === undefined || isOfOneDay(window) ? least : DAY_HOURS;
};

interface HourSize {
  readonly relay_chain: string;
  /** Hours since the epoch. */
  readonly hour: number;
  readonly size: number;
}

/**
 * Splits a window into parts of one relay chain each, with about the same number of blocks, in order of time. Returns at
 * most one part if the window cannot be split.
 */
export async function splitWindow(
  store: Pick<Store, 'rows'>,
  { materialized }: MaterializedMetric,
  window: PlannedWindow,
): Promise<readonly PlannedWindow[]> {
  const unit = unitOf(materialized, window);
  if (unit === undefined) return [];
  const sizes = await store.rows<HourSize>(
    sql`SELECT relay_chain, intDiv(toUnixTimestamp64Milli(assumeNotNull(time)), 3600000) AS hour, count() AS size
      FROM ${blocks} WHERE ${ofRelays(window)} AND ${within(window)}
      GROUP BY relay_chain, hour ORDER BY relay_chain, hour`,
  );
  const sizeMax = sizes.reduce((sum, { size }) => sum + size, 0) / PARTS;
  return window.relays.flatMap((relay) => {
    const own = sizes.filter(({ relay_chain }) => relay_chain === relay);
    const starts = startsOf(own, unit, sizeMax);
    if (starts.length === 0 && UNIT_HOURS[materialized] !== unit) starts.push(...edgesOf(own));
    const inside = starts.map(formatHour).filter((start) => start > window.from && start < window.until);
    const bounds = [window.from, ...inside, window.until];
    return bounds
      .slice(1)
      .map((until, i) => ({ ...window, relays: [relay], from: bounds[i] as string, until }));
  });
}

/** Bounds of the only day with blocks, so that it becomes a window of its own that hours can split. */
function edgesOf([first]: readonly HourSize[]): number[] {
  if (first === undefined) return [];
  const start = Math.floor(first.hour / DAY_HOURS) * DAY_HOURS;
  return [start, start + DAY_HOURS];
}

/** The start hours of all parts except the first. */
function startsOf(hours: readonly HourSize[], unit: number, sizeMax: number): number[] {
  const units = Map.groupBy(hours, ({ hour }) => Math.floor(hour / unit) * unit);
  const starts: number[] = [];
  let open = 0;
  for (const [start, own] of units) {
    const size = own.reduce((sum, one) => sum + one.size, 0);
    if (open > 0 && open + size > sizeMax) {
      starts.push(start);
      open = 0;
    }
    open += size;
  }
  return starts;
}
