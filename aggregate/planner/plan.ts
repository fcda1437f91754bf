import { FIRST_DAY, LAST_DAY } from '../../infra/clickhouse/date-range.ts';
import { dependencyOn, type Window } from '../../ingest/raw/canonical.ts';
import { DELETABLE } from '../../ingest/raw/retention.ts';
import { ANY_PALLET } from '../../ingest/raw/tables.ts';
import {
  hasOneRelayPerWindow,
  type InvalidationScope,
  type MaterializedMetric,
  type WindowSize,
} from '../metric.ts';
import { type DirtyDay, type DirtyGroup, groupDirtyDays } from './dirty-groups.ts';
import { type LeveledMetric, sortByLevel } from './levels.ts';
import {
  addDays,
  countBefore,
  countDaysIn,
  DAY_HOURS,
  dayNumber,
  daysWithin,
  formatHour,
  type HourRange,
  hoursOfDays,
  mergeRanges,
  unionOfDays,
  wholeDays,
  wholeMonths,
} from './ranges.ts';

/** Days with blocks by `relay chain/chain`, as sorted numbers since the epoch. */
export type DaysWithBlocks = ReadonlyMap<string, readonly number[]>;

export interface PlannedWindow extends Window {
  readonly metric: string;
  /** Windows of lower levels are computed first. */
  readonly level: number;
}

/** The raw tables of each stream; a dirty day of a stream affects all of them. */
export type StreamTables = Readonly<Record<string, readonly string[]>>;

export interface PlanInput {
  readonly dirtyDays: readonly DirtyDay[];
  readonly metrics: readonly MaterializedMetric[];
  readonly streams: StreamTables;
  readonly days: DaysWithBlocks;
  /** Days with snapshots by relay chain, as sorted numbers since the epoch. */
  readonly snapshotDays: ReadonlyMap<string, readonly number[]>;
  readonly relays: readonly string[];
  /** Most days with data in a window, summed over relay chains. */
  readonly daysMax: number;
  /** Windows are joined over at most this many valid days: recomputing these costs less than another statement. */
  readonly validDaysMax: number;
  /** Metrics that read all raw rows keep their rows before this day, because the raw rows may be deleted. */
  readonly frozenBefore?: string;
}

/** The input of the plan of one relay chain. */
interface RelayDays {
  readonly relay: string;
  readonly dirty: readonly DirtyGroup[];
  /** Days with blocks or dirty blocks, by chain. */
  readonly byChain: ReadonlyMap<string, readonly number[]>;
  /** Days with blocks of any chain, or with snapshots. */
  readonly daysWithData: readonly number[];
  /** Invalid ranges by metric, filled as the plan proceeds. */
  readonly ranges: Map<string, readonly HourRange[]>;
}

/**
 * Plans the windows that dirty days invalidate. The invalid range of a metric is the dirty days of the streams that it
 * reads plus the windows of the metrics that it reads, widened by its scope and lookback. Relay chains with the same
 * range share a window. Pure: equal input gives an equal plan.
 */
export function plan(input: PlanInput): PlannedWindow[] {
  const relays = input.relays.flatMap((relay) => relayDays(input, relay) ?? []);
  // The last day with data of any relay chain, so that relay chains share windows up to it. Empty days cost nothing.
  const last = Math.max(...relays.map(({ daysWithData }) => daysWithData.at(-1) as number));
  return sortByLevel(input.metrics).flatMap((leveled) => {
    for (const days of relays)
      days.ranges.set(leveled.metric.name, invalidRanges(leveled, days, last, input));
    return windowsOf(leveled, relays, input);
  });
}

/** Undefined for a relay chain without data. */
function relayDays(input: PlanInput, relay: string): RelayDays | undefined {
  const byChain = chainDays(input, relay);
  const daysWithData = unionOfDays([...byChain.values(), input.snapshotDays.get(relay) ?? []]);
  if (daysWithData.length === 0) return undefined;
  const dirty = groupDirtyDays(input.dirtyDays.filter((day) => isOfRelay(day, relay)));
  return { relay, byChain, daysWithData, dirty, ranges: new Map() };
}

function invalidRanges(
  { metric, reads }: LeveledMetric,
  days: RelayDays,
  last: number,
  { streams, validDaysMax }: PlanInput,
): HourRange[] {
  const { byChain, daysWithData, ranges } = days;
  const [, end] = hoursOfDays(last, last);
  const lookback = (metric.lookbackDays - 1) * DAY_HOURS;
  const own = days.dirty
    .filter(({ first }) => invalidates(first, reads, streams[first.stream] ?? []))
    .flatMap(({ all, ofAnyChain }) => (metric.invalidationScope === 'neighbours' ? all : ofAnyChain))
    .flatMap(({ pallet, day, chain, hours }): HourRange[] => {
      const number = dayNumber(day);
      const [first, to] = inScope(metric.invalidationScope, number, byChain.get(chain) ?? daysWithData, last);
      const [begin, end] = hoursOfDays(first, to);
      if (metric.materialized !== 'hourly' || !hours) return [[begin, end]];
      const changed = hours.map((hour) => number * DAY_HOURS + hour);
      if (metric.invalidationScope === 'day') return changed.map((hour): HourRange => [hour, hour]);
      // An empty day has its row in its first hour, and a day that lost blocks may be empty now. Otherwise, if no other
      // day is invalid, rows before the earliest changed hour stay valid.
      const mayBeEmpty = pallet === ANY_PALLET;
      return [[first < number || to > number || mayBeEmpty ? begin : Math.min(...changed), end]];
    });
  // A metric of scope `neighbours` reads raw blocks, so its own dirty days suffice; inherited windows would be wider.
  const inherited =
    metric.invalidationScope === 'neighbours'
      ? []
      : [...reads]
          .flatMap((table) => ranges.get(table) ?? [])
          .map(([a, b]): HourRange => (metric.invalidationScope === 'onward' ? [a, end] : [a, b]));
  // No rows exist after the last day with data.
  const invalid = [...own, ...inherited]
    .map(([a, b]): HourRange => [a, Math.min(b + lookback, end)])
    .filter(([a, b]) => a <= b);
  return mergeRanges(invalid.map(WIDENED[metric.materialized]), daysWithData, validDaysMax);
}

/** Widens a range to whole windows. */
const WIDENED: Readonly<Record<WindowSize, (range: HourRange) => HourRange>> = {
  hourly: (range) => range,
  daily: wholeDays,
  whole: wholeDays,
  monthly: wholeMonths,
};

/** The windows of a metric. A window covers as many relay chains as possible. */
function windowsOf(
  { metric, level, reads }: LeveledMetric,
  relays: readonly RelayDays[],
  input: PlanInput,
): PlannedWindow[] {
  const { frozenBefore } = input;
  const firstOpen = frozenBefore && readsAllRows(reads) ? dayNumber(frozenBefore) * DAY_HOURS : 0;
  const invalid = relays.flatMap((days) =>
    (days.ranges.get(metric.name) ?? [])
      .filter(([, b]) => b >= firstOpen)
      .map(([a, b]): Invalid => ({ days, range: [Math.max(a, firstOpen), b] })),
  );
  return joinWindows(metric, invalid, input.validDaysMax).flatMap(({ range, invalid: parts }) => {
    const joined = [...new Set(parts.map(({ days }) => days))];
    const window = {
      metric: metric.name,
      relays: joined.map(({ relay }) => relay).sort(),
      level,
    };
    if (metric.materialized === 'whole') return [{ ...window, ...ALL_TIME }];
    return split(range, joined, daysMaxOf(metric, input)).map(([first, last]) => ({
      ...window,
      from: formatHour(first),
      until: formatHour(last + 1),
    }));
  });
}

interface Invalid {
  readonly days: RelayDays;
  readonly range: HourRange;
}

/** A window before it is split. */
interface JoinedWindow {
  readonly range: HourRange;
  readonly invalid: readonly Invalid[];
}

/**
 * Joins ranges of different relay chains if their common window has few valid days with data: one statement costs less
 * than two, and days without data cost nothing.
 */
function joinWindows(
  metric: MaterializedMetric,
  invalid: readonly Invalid[],
  validDaysMax: number,
): readonly JoinedWindow[] {
  const ofOneRelay = hasOneRelayPerWindow(metric);
  if (metric.materialized === 'whole') {
    const groups = Map.groupBy(invalid, ({ days }) => (ofOneRelay ? days.relay : ''));
    return [...groups.values()].map((group) => ({ range: (group[0] as Invalid).range, invalid: group }));
  }
  const windows: JoinedWindow[] = [];
  for (const next of invalid.toSorted((x, y) => x.range[0] - y.range[0] || x.range[1] - y.range[1])) {
    const open = ofOneRelay ? undefined : windows.at(-1);
    const range: HourRange = open ? [open.range[0], Math.max(open.range[1], next.range[1])] : next.range;
    const parts = [...(open?.invalid ?? []), next];
    const isJoined = open && parts.reduce((days, part) => days + validDaysOf(part, range), 0) <= validDaysMax;
    if (isJoined) windows.pop();
    windows.push(isJoined ? { range, invalid: parts } : { range: next.range, invalid: [next] });
  }
  return windows;
}

/** Days with data in a range that are outside of the invalid part. */
const validDaysOf = ({ days: { daysWithData }, range: [first, last] }: Invalid, [a, b]: HourRange): number =>
  countDaysIn([a, first - 1], daysWithData) + countDaysIn([last + 1, b], daysWithData);

/** A fold holds all facts of a window in the memory of this process. */
const FOLDED_DAYS_MAX = 7;

/** The most days with data in a window of the metric, summed over relay chains. */
function daysMaxOf({ materialized, fold }: MaterializedMetric, input: PlanInput): number {
  if (materialized === 'monthly') return Number.POSITIVE_INFINITY;
  return fold ? Math.min(FOLDED_DAYS_MAX, input.daysMax) : input.daysMax;
}

/** Every value of the type `Date`. */
export const ALL_TIME = { from: FIRST_DAY, until: LAST_DAY } as const;

/** A price belongs to a token, not to the chain that recorded it. */
const isOfRelay = (day: DirtyDay, relay: string) => day.stream === 'prices' || day.relay_chain === relay;

function invalidates(
  { pallet, pallets }: DirtyDay,
  reads: ReadonlySet<string>,
  tables: readonly string[],
): boolean {
  const isOfPallets = pallet !== '' && pallet !== ANY_PALLET;
  if (isOfPallets) return reads.has(dependencyOn(pallet));
  if (tables.some((table) => reads.has(table))) return true;
  return pallet === ANY_PALLET && palletsIn(reads).some((name) => !pallets || pallets.includes(name));
}

/** True if a metric reads all raw rows, not only those of named pallets. Its rows outlive deleted raw rows. */
export const readsAllRows = (reads: ReadonlySet<string>): boolean =>
  DELETABLE.some(({ name }) => reads.has(name));

/** The pallets of a metric that reads only their facts. */
export const palletsIn = (reads: ReadonlySet<string>): string[] =>
  [...reads]
    .filter((table) => table.startsWith(dependencyOn('')))
    .map((table) => table.slice(dependencyOn('').length));

/** Days with blocks or dirty blocks of a relay chain, by chain. */
function chainDays({ days, dirtyDays }: PlanInput, relay: string): Map<string, readonly number[]> {
  const dirty = dirtyDays.filter(({ stream, relay_chain }) => stream === 'blocks' && relay_chain === relay);
  const ofDirty = [...Map.groupBy(dirty, ({ chain }) => chain)].map(
    ([chain, own]) => [`${relay}/${chain}`, own.map(({ day }) => dayNumber(day))] as const,
  );
  const daysByChain = addDays(days, new Map(ofDirty));
  return new Map(
    [...daysByChain].flatMap(([key, own]) => {
      const [relayChain, chain] = key.split('/') as [string, string];
      return relayChain === relay ? [[chain, own]] : [];
    }),
  );
}

/** The first and the last day that a dirty day invalidates. */
function inScope(
  scope: InvalidationScope,
  day: number,
  days: readonly number[],
  last: number,
): [first: number, last: number] {
  if (scope === 'onward') return [day, Math.max(day, last)];
  if (scope === 'day') return [day, day];
  const before = days[countBefore(days, day) - 1];
  const after = days[countBefore(days, day + 1)];
  return [before === undefined ? day : before + 1, after ?? day];
}

/**
 * Splits a range into ranges of one day, or of at most `daysMax` days with data, summed over relay chains. Days without
 * data do not count.
 */
function split([a, b]: HourRange, relays: readonly RelayDays[], daysMax: number): HourRange[] {
  const inside = relays.flatMap(({ daysWithData }) => daysWithin([a, b], daysWithData));
  const starts: number[] = [];
  let days = 0;
  for (const [day, own] of [...Map.groupBy(inside, Number)].sort(([x], [y]) => x - y)) {
    if (days > 0 && days + own.length > daysMax) {
      starts.push(day * DAY_HOURS);
      days = 0;
    }
    days += own.length;
  }
  return [a, ...starts].map(
    (from, i): HourRange => [from, starts[i] === undefined ? b : (starts[i] as number) - 1],
  );
}
