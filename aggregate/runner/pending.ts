import type { Store } from '../../infra/ports.ts';
import { RELAY_CHAINS } from '../../ingest/chains/chain.ts';
import type { MaterializedMetric } from '../metric.ts';
import { type Calendar, readCalendar } from '../planner/calendar.ts';
import { type DirtyDay, type PlannedWindow, plan } from '../planner/plan.ts';
import { type NumberedDirtyDay, palletsOf, readEndsOfDirtyDays, STREAM_TABLES } from './dirty-days.ts';
import { NEVER_COMPUTED, readWatermarks } from './ledger.ts';

/**
 * Why rows wait: data were loaded; the metric was never computed here; its recipe has changed, so that its rows were
 * deleted; or the computation has failed and is tried again with the next load only.
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

/** What is pending by metric; metrics whose rows hold everything that is loaded are not in it. */
export type PendingByMetric = ReadonlyMap<string, readonly Pending[]>;

/**
 * Reads what the next round would compute, by the first and the last of its days. Whoever reads rows afterwards finds at
 * least everything else in them.
 */
export async function readPending(
  store: Pick<Store, 'rows'>,
  metrics: readonly MaterializedMetric[],
  hasFailed: boolean,
): Promise<PendingByMetric> {
  const computed = await readWatermarks(store);
  const pending = new Map<string, readonly Pending[]>();
  let calendar: Calendar | undefined;
  for (const [watermark, group] of byWatermark(metrics, computed)) {
    const days = await readEndsOfDirtyDays(store, watermark, palletsOf(group));
    if (days.length === 0) continue;
    calendar ??= await readCalendar(store);
    const names = new Set(group.map(({ name }) => name));
    // A metric is invalidated by the windows of those that it reads, so the plan is one of all metrics.
    const windows = planDays(metrics, days, calendar).filter(({ metric }) => names.has(metric));
    for (const { name } of group) {
      const reason = hasFailed ? 'failed' : reasonOf(computed.get(name));
      const own = windows.filter(({ metric }) => metric === name);
      const hasRows = watermark > NEVER_COMPUTED;
      const ofMetric = pendingByRelay(own, days).map((one) => ({ ...one, reason, hasRows }));
      if (ofMetric.length > 0) pending.set(name, ofMetric);
    }
  }
  return pending;
}

function reasonOf(watermark: bigint | undefined): PendingReason {
  if (watermark === undefined) return 'never_computed';
  return watermark === NEVER_COMPUTED ? 'recipe_changed' : 'loaded';
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

/** The windows that dirty days invalidate, for each metric by the days after its watermark. */
export function planPending(
  metrics: readonly MaterializedMetric[],
  days: readonly NumberedDirtyDay[],
  computed: ReadonlyMap<string, bigint>,
  calendar: Calendar,
): PlannedWindow[] {
  // Metrics with the same watermark share a plan; a metric that is new to this store gets its whole history.
  return [...byWatermark(metrics, computed)].flatMap(([watermark, group]) => {
    const newer = days.filter(({ sequence }) => BigInt(sequence) > watermark);
    const names = new Set(group.map(({ name }) => name));
    return planDays(metrics, newer, calendar).filter(({ metric }) => names.has(metric));
  });
}

/** The windows of these metrics that the days invalidate. */
export const planDays = (
  metrics: readonly MaterializedMetric[],
  days: readonly DirtyDay[],
  calendar: Calendar,
): PlannedWindow[] =>
  plan({ dirtyDays: days, metrics, streams: STREAM_TABLES, ...calendar, relays: RELAY_CHAINS });

/** The number up to which every load is computed for all of these metrics. */
export const lowestOf = (
  metrics: readonly MaterializedMetric[],
  computed: ReadonlyMap<string, bigint>,
): bigint => [...byWatermark(metrics, computed).keys()].sort((a, b) => (a < b ? -1 : 1))[0] ?? NEVER_COMPUTED;

function byWatermark(
  metrics: readonly MaterializedMetric[],
  computed: ReadonlyMap<string, bigint>,
): Map<bigint, MaterializedMetric[]> {
  const groups = new Map<bigint, MaterializedMetric[]>();
  for (const metric of metrics) {
    const watermark = computed.get(metric.name) ?? NEVER_COMPUTED;
    groups.set(watermark, [...(groups.get(watermark) ?? []), metric]);
  }
  return groups;
}
