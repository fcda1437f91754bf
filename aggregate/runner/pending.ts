import type { Store } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { MaterializedMetric } from '../metric.ts';
import { blockDays } from '../metrics/index.ts';
import { type Calendar, readCalendar } from '../planner/calendar.ts';
import type { DirtyDay } from '../planner/dirty-groups.ts';
import { type PlannedWindow, plan } from '../planner/plan.ts';
import { type NumberedDirtyDay, palletsOf, readEndsOfDirtyDays, STREAM_TABLES } from './dirty-days.ts';
import { type NumberedDirtyHours, withHours } from './dirty-hours.ts';
import { type FailedMetric, readsOf, stalledBy } from './failures.ts';
import { readMarks } from './ledger.ts';
import { byMark, lowestMark, type Marks } from './marks.ts';

/**
 * Why rows wait: data were loaded; the metric was never computed here; its recipe has changed, so that its rows were
 * deleted; or the metric, or one that it reads, has failed: `status` tells when it is tried again.
 */
export const PENDING_REASONS = ['loaded', 'never_computed', 'recipe_changed', 'failed'] as const;
export type PendingReason = (typeof PENDING_REASONS)[number];

/** Loaded data that are not in the rows of a metric. */
export interface Pending {
  readonly relay_chain: string;
  /** The earliest day of these data. */
  readonly since: string;
  /** All rows that they may change are of these days; `until` is not one of them. */
  readonly from: string;
  readonly until: string;
  readonly reason: PendingReason;
  /** Whether the rows hold all data of a former round; otherwise they may hold any part of the data. */
  readonly hasRows: boolean;
}

/** Of the windows only their ends count. */
const WHOLE_WINDOWS = { daysMax: Number.POSITIVE_INFINITY, validDaysMax: 0 };

/** What is pending by metric; metrics whose rows hold everything that is loaded are not in it. */
export type PendingByMetric = ReadonlyMap<string, readonly Pending[]>;

interface PendingOptions {
  readonly metrics: readonly MaterializedMetric[];
  readonly failures: readonly FailedMetric[];
  /** Whether rounds fail as a whole. */
  readonly hasFailed: boolean;
}

/**
 * Reads the range of days that the next round would compute. Rows that are read afterwards hold all other loaded data.
 */
export async function readPending(
  store: Pick<Store, 'rows'>,
  { metrics, failures, hasFailed }: PendingOptions,
): Promise<PendingByMetric> {
  const marks = await readMarks(store);
  const stalled = stalledBy(failures, readsOf(metrics));
  const pending = new Map<string, Pending[]>();
  let calendar: Calendar | undefined;
  for (const [mark, ofMark] of byMark(metrics, marks)) {
    const days = await readEndsOfDirtyDays(store, { after: mark ?? 0n, pallets: palletsOf(ofMark) });
    if (days.length === 0) continue;
    calendar ??= await readCalendar(store, blockDays, lowestMark(metrics, marks));
    // A metric is invalidated by the windows of those that it reads, so the plan is one of all metrics.
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

/** What a round found dirty. */
interface DirtyInput {
  readonly days: readonly NumberedDirtyDay[];
  readonly hours: readonly NumberedDirtyHours[];
}

/**
 * The windows that dirty days invalidate, for each of the active metrics by the days that it lacks. Metrics with the same
 * mark share a plan; a metric that is new to this store gets its whole history.
 */
export function planPending(
  metrics: readonly MaterializedMetric[],
  active: readonly MaterializedMetric[],
  dirty: DirtyInput,
  marks: Marks,
  calendar: Calendar,
): PlannedWindow[] {
  return [...byMark(active, marks)].flatMap(([mark = 0n, ofMark]) => {
    const isLacking = (sequence: bigint) => sequence > mark;
    const lacking = dirty.days.filter(({ sequence }) => isLacking(BigInt(sequence)));
    const names = new Set(ofMark.map(({ name }) => name));
    const days = withHours(lacking, dirty.hours, isLacking);
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
