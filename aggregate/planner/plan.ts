import { dependencyOn, type Window } from '../../ingest/raw/canonical.ts';
import { DELETABLE } from '../../ingest/raw/retention.ts';
import { ANY_PALLET } from '../../ingest/raw/tables.ts';
import {
  dependencies,
  type InvalidationScope,
  isOfOneRelay,
  type MaterializedMetric,
  type WindowSize,
} from '../metric.ts';

/** A day of a chain whose raw data changed in `stream`; `pallet` narrows the change to the facts of one pallet. */
export interface DirtyDay {
  readonly stream: string;
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
  /** The hours of the day that changed, 0 to 23; absent where the whole day may have. */
  readonly hours?: readonly number[];
}

/** Days with blocks by `relay chain/chain`. */
export type DaysWithBlocks = ReadonlyMap<string, readonly string[]>;

export interface PlannedWindow extends Window {
  readonly metric: string;
  /** Windows of a lower level must be computed first. */
  readonly level: number;
  /** Whether it may have stored rows that it has no longer. */
  readonly mayLoseRows: boolean;
}

/** The raw tables of each stream: a dirty day of the stream is a change of all of them. */
export type StreamTables = Readonly<Record<string, readonly string[]>>;

export interface PlanInput {
  readonly dirtyDays: readonly DirtyDay[];
  readonly metrics: readonly MaterializedMetric[];
  readonly streams: StreamTables;
  readonly days: DaysWithBlocks;
  /** Days with snapshots by relay chain. */
  readonly snapshotDays: ReadonlyMap<string, readonly string[]>;
  readonly relays: readonly string[];
  /** Days with data in one window at most. */
  readonly daysMax: number;
  /** Rows of earlier days that were computed of all raw rows stay as they are, since these may be deleted. */
  readonly frozenBefore?: string;
}

/** Hours as numbers since the epoch, both inclusive. */
type Range = readonly [first: number, last: number];
const DAY_HOURS = 24;
const HOUR_MS = 3_600_000;
const DAY_MS = DAY_HOURS * HOUR_MS;
/** Days as numbers since the epoch. */
const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;
/** The start of an hour: a day where it is midnight. */
function textOfHour(hour: number): string {
  const text = new Date(hour * HOUR_MS).toISOString();
  return hour % DAY_HOURS === 0 ? text.slice(0, 10) : `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}
const dayOfHour = (hour: number) => Math.floor(hour / DAY_HOURS);
/** The hours of days, the last one included. */
const hoursOfDays = (first: number, last: number): Range => [
  first * DAY_HOURS,
  last * DAY_HOURS + DAY_HOURS - 1,
];

/** What the plan of a relay chain is made of. */
interface RelayDays {
  readonly relay: string;
  readonly dirty: readonly DirtyDay[];
  /** Days by chain: those with blocks, and those whose blocks are dirty. */
  readonly byChain: ReadonlyMap<string, readonly number[]>;
  /** Days with blocks of any chain, or with snapshots. */
  readonly all: readonly number[];
  /** Whether a stored block was replaced, or days are computed again whatever has changed: rows may have gone. */
  readonly mayLoseRows: boolean;
  /** Invalid ranges of the metrics that are planned so far. */
  readonly ranges: Map<string, readonly Range[]>;
}

/**
 * Plans the windows that dirty days invalidate: for each metric the dirty days of the streams that it reads and the
 * windows of the metrics that it reads, widened by its scope and its lookback. Relay chains with the same range share a
 * window. Pure: equal input gives an equal plan.
 */
export function plan(input: PlanInput): PlannedWindow[] {
  const relays = input.relays.flatMap((relay) => relayDays(input, relay) ?? []);
  // One for all relay chains, so that they share windows that end there: days without data cost nothing.
  const last = Math.max(...relays.map(({ all }) => all.at(-1) as number));
  return byLevel(input.metrics).flatMap((leveled) => {
    for (const days of relays)
      days.ranges.set(leveled.metric.name, invalidRanges(leveled, days, last, input));
    return windowsOf(leveled, relays, input);
  });
}

function relayDays(input: PlanInput, relay: string): RelayDays | undefined {
  const byChain = chainDays(input, relay);
  const snapshotDays = (input.snapshotDays.get(relay) ?? []).map(dayNumber);
  const all = [...new Set([...byChain.values(), snapshotDays].flat())].sort((a, b) => a - b);
  const dirty = input.dirtyDays.filter((day) => isOfRelay(day, relay));
  if (all.length === 0) return undefined;
  const mayLoseRows = dirty.some(({ pallet }) => pallet === ANY_PALLET);
  return { relay, dirty, byChain, all, mayLoseRows, ranges: new Map() };
}

function invalidRanges(
  { metric, reads }: Leveled,
  days: RelayDays,
  last: number,
  { streams }: PlanInput,
): Range[] {
  const { byChain, all, ranges } = days;
  const [, end] = hoursOfDays(last, last);
  // Hours that begin while the round runs may be computed beside it, of rows that it has not changed yet: no later
  // round of theirs would compute them again, as it does with a day that goes on.
  const isOpen = metric.materialized === 'hourly' && metric.invalidationScope === 'onward';
  const lookback = (metric.lookbackDays - 1) * DAY_HOURS;
  const own = days.dirty
    .filter((day) => invalidates(day, reads, streams[day.stream] ?? []))
    .flatMap(({ pallet, day, chain, hours }): Range[] => {
      const number = dayNumber(day);
      const [first, to] = inScope(metric.invalidationScope, number, byChain.get(chain) ?? all, last);
      const [begin, end] = hoursOfDays(first, to);
      if (metric.materialized !== 'hourly' || !hours) return [[begin, end]];
      const changed = hours.map((hour) => number * DAY_HOURS + hour);
      if (metric.invalidationScope === 'day') return changed.map((hour): Range => [hour, hour]);
      // Before the hour only empty days change, and one that has lost its blocks, whose row is that of its first hour.
      const isEmptied = pallet === ANY_PALLET;
      return [[first < number || isEmptied ? begin : Math.min(...changed), end]];
    });
  // Metrics of this scope read raw blocks: the dirty days of one chain are narrower than windows of all chains.
  const inherited =
    metric.invalidationScope === 'neighbours'
      ? []
      : [...reads]
          .flatMap((table) => ranges.get(table) ?? [])
          .map(([a, b]): Range => (metric.invalidationScope === 'onward' ? [a, end] : [a, b]));
  // After the last day with data there are no rows to invalidate.
  const invalid = [...own, ...inherited]
    .map(([a, b]): Range => [a, isOpen ? LAST_HOUR : Math.min(b + lookback, end)])
    .filter(([a, b]) => a <= b);
  return merge(invalid.map(WIDENED[metric.materialized]), all);
}

/** The ranges of which a metric can be computed. */
const WIDENED: Readonly<Record<WindowSize, (range: Range) => Range>> = {
  hourly: (range) => range,
  daily: wholeDays,
  whole: wholeDays,
  monthly: wholeMonths,
};

function wholeDays([a, b]: Range): Range {
  return hoursOfDays(dayOfHour(a), dayOfHour(b));
}

/** The windows of a metric: a statement covers all relay chains that it can. */
function windowsOf(
  { metric, level, reads }: Leveled,
  relays: readonly RelayDays[],
  input: PlanInput,
): PlannedWindow[] {
  const { frozenBefore } = input;
  const first = frozenBefore && readsAllRows(reads) ? dayNumber(frozenBefore) * DAY_HOURS : 0;
  const invalid = relays.flatMap((days) =>
    (days.ranges.get(metric.name) ?? [])
      .filter(([, b]) => b >= first)
      .map(([a, b]) => ({ days, range: [Math.max(a, first), b] as const })),
  );
  const groups = Map.groupBy(invalid, ({ days, range }) =>
    [isOfOneRelay(metric) ? days.relay : '', ...(metric.materialized === 'whole' ? [] : range)].join(),
  );
  return [...groups.values()].flatMap((group) => {
    const [{ range }] = group as [(typeof group)[number]];
    const together = [...new Set(group.map(({ days }) => days))];
    const window = {
      metric: metric.name,
      relays: together.map(({ relay }) => relay).sort(),
      level,
      mayLoseRows: !metric.keepsRows || together.some(({ mayLoseRows }) => mayLoseRows),
    };
    if (metric.materialized === 'whole') return [{ ...window, ...EVERYTHING }];
    return split(range, together, daysMaxOf(metric, together.length, input)).map(([from, until]) => ({
      ...window,
      from: textOfHour(from),
      until: textOfHour(until + 1),
    }));
  });
}

function daysMaxOf({ materialized, daysMax }: MaterializedMetric, relays: number, input: PlanInput): number {
  if (materialized === 'monthly') return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(Math.min(daysMax ?? input.daysMax, input.daysMax) / relays));
}

/** The window of a metric over the whole history: every value of the type `Date`. */
export const EVERYTHING = { from: '1970-01-01', until: '2149-06-06' } as const;
const LAST_HOUR = dayNumber(EVERYTHING.until) * DAY_HOURS - 1;

interface Leveled {
  readonly metric: MaterializedMetric;
  readonly reads: ReadonlySet<string>;
  /** Its distance from the raw tables. */
  readonly level: number;
}

/** Metrics after those that they read. */
export function byLevel(metrics: readonly MaterializedMetric[]): Leveled[] {
  const names = new Set(metrics.map((metric) => metric.name));
  const reads = new Map(metrics.map((metric) => [metric.name, dependencies(metric)]));
  const levels = new Map<string, number>();
  const levelOf = (name: string, path: readonly string[]): number => {
    if (path.includes(name))
      throw new Error(`metrics read each other in a circle: ${[...path, name].join(' → ')}`);
    const known = levels.get(name);
    if (known !== undefined) return known;
    const below = [...(reads.get(name) ?? [])].filter((table) => names.has(table) && table !== name);
    const level = Math.max(-1, ...below.map((table) => levelOf(table, [...path, name]))) + 1;
    levels.set(name, level);
    return level;
  };
  return metrics
    .map((metric) => ({
      metric,
      reads: reads.get(metric.name) as ReadonlySet<string>,
      level: levelOf(metric.name, []),
    }))
    .sort((a, b) => a.level - b.level);
}

/** Prices belong to a token, not to the chain that they were recorded under. */
const isOfRelay = (day: DirtyDay, relay: string) => day.stream === 'prices' || day.relay_chain === relay;

function invalidates({ pallet }: DirtyDay, reads: ReadonlySet<string>, tables: readonly string[]): boolean {
  const isOfPallets = pallet !== '' && pallet !== ANY_PALLET;
  if (isOfPallets) return reads.has(dependencyOn(pallet));
  if (tables.some((table) => reads.has(table))) return true;
  return pallet === ANY_PALLET && palletsIn(reads).length > 0;
}

/** Whether a metric reads raw rows of other than named pallets: these may be deleted, and its rows outlive them. */
export const readsAllRows = (reads: ReadonlySet<string>): boolean =>
  DELETABLE.some(({ name }) => reads.has(name));

/** The pallets by which a metric depends on blocks, where it reads only facts of these pallets. */
export const palletsIn = (reads: ReadonlySet<string>): string[] =>
  [...reads]
    .filter((table) => table.startsWith(dependencyOn('')))
    .map((table) => table.slice(dependencyOn('').length));

/** Days by chain of a relay chain: those with blocks, and those whose blocks are dirty. */
function chainDays({ days, dirtyDays }: PlanInput, relay: string): Map<string, number[]> {
  const known = new Map<string, Set<number>>();
  const add = (chain: string, day: string) =>
    known.set(chain, (known.get(chain) ?? new Set()).add(dayNumber(day)));
  for (const [key, list] of days) {
    const [of, chain] = key.split('/') as [string, string];
    if (of === relay) for (const day of list) add(chain, day);
  }
  for (const { stream, relay_chain, chain, day } of dirtyDays) {
    if (stream === 'blocks' && relay_chain === relay) add(chain, day);
  }
  return new Map([...known].map(([chain, set]) => [chain, [...set].sort((a, b) => a - b)]));
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
  const before = days.findLast((other) => other < day);
  const after = days.find((other) => other > day);
  return [before === undefined ? day : before + 1, after ?? day];
}

function wholeMonths([a, b]: Range): Range {
  const first = new Date(a * HOUR_MS);
  const last = new Date(b * HOUR_MS);
  return hoursOfDays(
    Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), 1) / DAY_MS,
    Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1, 0) / DAY_MS,
  );
}

/** Joins ranges that overlap, adjoin, or have no day with data between them: one statement costs less than two. */
function merge(ranges: readonly Range[], days: readonly number[]): Range[] {
  const merged: [number, number][] = [];
  for (const [a, b] of [...ranges].sort((x, y) => x[0] - y[0] || x[1] - y[1])) {
    const open = merged.at(-1);
    if (open && (a <= open[1] + 1 || !anyBetween(days, dayOfHour(open[1] + 1) - 1, dayOfHour(a - 1) + 1)))
      open[1] = Math.max(open[1], b);
    else merged.push([a, b]);
  }
  return merged;
}

function anyBetween(sorted: readonly number[], after: number, before: number): boolean {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) > after) high = middle;
    else low = middle + 1;
  }
  return low < sorted.length && (sorted[low] as number) < before;
}

/** Splits a range into ranges of at most `daysMax` days with data; days without data cost nothing. */
function split([a, b]: Range, relays: readonly RelayDays[], daysMax: number): Range[] {
  const days = relays.length === 1 ? (relays[0] as RelayDays).all : relays.flatMap(({ all }) => all);
  const inside = [...new Set(days)]
    .filter((day) => day >= dayOfHour(a) && day <= dayOfHour(b))
    .sort((x, y) => x - y);
  const starts = inside.filter((_, i) => i > 0 && i % daysMax === 0).map((day) => day * DAY_HOURS);
  return [a, ...starts].map(
    (from, i): Range => [from, starts[i] === undefined ? b : (starts[i] as number) - 1],
  );
}
