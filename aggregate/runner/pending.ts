import type { Store } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays } from '../metrics/index.ts';
import { type Calendar, readCalendar } from '../planner/calendar.ts';
import type { DirtyDay } from '../planner/dirty-groups.ts';
import { type PlannedWindow, plan } from '../planner/plan.ts';
import { type NumberedDirtyDay, palletsOf, readEndsOfDirtyDays, STREAM_TABLES } from './dirty-days.ts';
import { addHours, type NumberedDirtyHours } from './dirty-hours.ts';
import { type FailedMetric, readsByMetric, stalledMetrics } from './failures.ts';
import { readWatermarks } from './ledger.ts';
import { findLowestWatermark, groupByWatermark, type Watermarks } from './watermarks.ts';

/**
 * Why rows are pending. `loaded`: new data. `never_computed`: the metric is new in this store. `recipe_changed`: its rows
 * were deleted. `failed`: the metric or one that it reads failed; `status` shows the next attempt.
 */
export const PENDING_REASONS = ['loaded', 'never_computed', 'recipe_changed', 'failed'] as const;
export type PendingReason = (typeof PENDING_REASONS)[number];

/** Loaded data that the rows of a metric lack. */
export interface Pending {
  readonly relay_chain: string;
  /** The earliest day of these data. */
  readonly since: string;
  /** The days whose rows may change; `until` is exclusive. */
  readonly from: string;
  readonly until: string;
  readonly reason: PendingReason;
  /** True if the rows hold all data of an earlier round; otherwise they may hold any part of the data. */
  readonly hasRows: boolean;
}

/** Only the ends of the windows matter here, so they are not split. */
const WHOLE_WINDOWS = { daysMax: Number.POSITIVE_INFINITY, validDaysMax: 0 };

/** By metric; up-to-date metrics are absent. */
export type PendingByMetric = ReadonlyMap<string, readonly Pending[]>;

interface PendingOptions {
  readonly metrics: readonly MaterializedMetric[];
  readonly failures: readonly FailedMetric[];
  /** True if rounds fail as a whole. */
  readonly hasFailed: boolean;
}

/**
 * Reads the ranges of days that the next round would compute. Rows that are read after this call hold all other loaded
 * data.
 */
export async function readPending(
  store: Pick<Store, 'rows'>,
  { metrics, failures, hasFailed }: PendingOptions,
): Promise<PendingByMetric> {
  const marks = await readWatermarks(store);
  const stalled = stalledMetrics(failures, readsByMetric(metrics));
  const pending = new Map<string, Pending[]>();
  let calendar: Calendar | undefined;
  for (const [mark, ofMark] of groupByWatermark(metrics, marks)) {
    const days = await readEndsOfDirtyDays(store, { after: mark ?? 0n, pallets: palletsOf(ofMark) });
    if (days.length === 0) continue;
    calendar ??= await readCalendar(store, blockDays, findLowestWatermark(metrics, marks));
    // Windows of one metric invalidate metrics that read it, so the plan covers all metrics.
    const windows = planDays(metrics, days, { ...calendar, ...WHOLE_WINDOWS });
    for (const { name } of ofMark) {
      const reason = hasFailed || stalled.has(name) ? 'failed' : reasonOf(mark);
      const own = windows.filter(({ metric }) => metric === name);
      const ofMetric = pendingByRelay(own, days).map((one) => ({ ...one, reason, hasRows: Boolean(mark) }));
      if (ofMetric.length > 0) pending.set(name, ofMetric);
    }
  }
  return pending;
}

function reasonOf(mark: bigint | undefined): PendingReason {
  if (mark === undefined) return 'never_computed';
  return mark === 0n ? 'recipe_changed' : 'loaded';
}

function pendingByRelay(
  windows: readonly PlannedWindow[],
  days: readonly DirtyDay[],
): Omit<Pending, 'reason' | 'hasRows'>[] {
  return RELAY_CHAINS.flatMap((relay_chain) => {
    const own = windows.filter((window) => window.relays.includes(relay_chain));
    const [from] = own.map((window) => window.from).sort();
    const until = own
      .map((window) => window.until)
      .sort()
      .at(-1);
    const [since] = days
      .filter((day) => day.stream === 'prices' || day.relay_chain === relay_chain)
      .map(({ day }) => day)
      .sort();
    if (from === undefined || until === undefined || since === undefined) return [];
    return [{ relay_chain, since, from, until }];
  });
}

interface DirtyInput {
  readonly days: readonly NumberedDirtyDay[];
  readonly hours: readonly NumberedDirtyHours[];
}

/**
 * The windows of the active metrics for the days that each of them lacks. Metrics with the same watermark share a plan. A
 * metric that is new in this store gets its whole history.
 */
export function planPending(
  metrics: readonly MaterializedMetric[],
  active: readonly MaterializedMetric[],
  dirty: DirtyInput,
  marks: Watermarks,
  calendar: Calendar,
): PlannedWindow[] {
  return [...groupByWatermark(active, marks)].flatMap(([mark = 0n, ofMark]) => {
    const isLacking = (sequence: bigint) => sequence > mark;
    const lacking = dirty.days.filter(({ sequence }) => isLacking(BigInt(sequence)));
    const names = new Set(ofMark.map(({ name }) => name));
    const days = addHours(lacking, dirty.hours, isLacking);
    return planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
  });
}

/** The windows of these metrics that the days invalidate. */
export const planDays = (
  metrics: readonly MaterializedMetric[],
  days: readonly DirtyDay[],
  calendar: Calendar,
): PlannedWindow[] =>
  plan({ dirtyDays: days, metrics, streams: STREAM_TABLES, ...calendar, relays: RELAY_CHAINS });
