import { dependencyOn, type Window } from '../../ingest/raw/canonical.ts';
import { ANY_PALLET } from '../../ingest/raw/tables.ts';
import { dependencies, type InvalidationScope, isOfOneRelay, type MaterializedMetric } from '../metric.ts';

/** A day of a chain whose raw data changed in `stream`; `pallet` narrows the change to the facts of one pallet. */
export interface DirtyDay {
  readonly stream: string;
  readonly pallet: string;
  readonly relay_chain: string;
  readonly chain: string;
  readonly day: string;
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
}

/** Days as numbers since the epoch: ranges of them are inclusive. */
type Range = readonly [first: number, last: number];
const DAY_MS = 86_400_000;
export const dayNumber = (day: string): number => Date.parse(`${day}T00:00:00Z`) / DAY_MS;
export const dayOfNumber = (number: number): string => new Date(number * DAY_MS).toISOString().slice(0, 10);

/** What the plan of a relay chain is made of. */
interface RelayDays {
  readonly relay: string;
  readonly dirty: readonly DirtyDay[];
  /** Days by chain: those with blocks, and those whose blocks are dirty. */
  readonly byChain: ReadonlyMap<string, readonly number[]>;
  /** Days with blocks of any chain, or with snapshots. */
  readonly all: readonly number[];
  /** The last day with data; in a plan, of all relay chains. */
  readonly last: number;
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
  const withDays = input.relays.flatMap((relay) => relayDays(input, relay) ?? []);
  // Relay chains that end on different days share their windows all the same: the days after the last cost nothing.
  const last = Math.max(...withDays.map((days) => days.last));
  const relays = withDays.map((days) => ({ ...days, last }));
  return byLevel(input.metrics).flatMap((leveled) => {
    for (const days of relays) days.ranges.set(leveled.metric.name, invalidRanges(leveled, days, input));
    return windowsOf(leveled, relays, input);
  });
}

function relayDays(input: PlanInput, relay: string): RelayDays | undefined {
  const byChain = chainDays(input, relay);
  const snapshotDays = (input.snapshotDays.get(relay) ?? []).map(dayNumber);
  const all = [...new Set([...byChain.values(), snapshotDays].flat())].sort((a, b) => a - b);
  const last = all.at(-1);
  const dirty = input.dirtyDays.filter((day) => isOfRelay(day, relay));
  if (last === undefined) return undefined;
  const mayLoseRows = dirty.some(({ pallet }) => pallet === ANY_PALLET);
  return { relay, dirty, byChain, all, last, mayLoseRows, ranges: new Map() };
}

function invalidRanges({ metric, reads }: Leveled, days: RelayDays, { streams }: PlanInput): Range[] {
  const { byChain, all, last, ranges } = days;
  const own = days.dirty
    .filter((day) => invalidates(day, reads, streams[day.stream] ?? []))
    .map(({ day, chain }) =>
      inScope(metric.invalidationScope, dayNumber(day), byChain.get(chain) ?? all, last),
    );
  // Metrics of this scope read raw blocks: the dirty days of one chain are narrower than windows of all chains.
  const inherited =
    metric.invalidationScope === 'neighbours'
      ? []
      : [...reads]
          .flatMap((table) => ranges.get(table) ?? [])
          .map(([a, b]): Range => (metric.invalidationScope === 'onward' ? [a, last] : [a, b]));
  // After the last day with data there are no rows to invalidate.
  const invalid = [...own, ...inherited]
    .map(([a, b]): Range => [a, Math.min(b + metric.lookbackDays - 1, last)])
    .filter(([a, b]) => a <= b);
  return merge(metric.materialized === 'monthly' ? invalid.map(wholeMonths) : invalid, all);
}

/** The windows of a metric: a statement covers all relay chains that it can. */
function windowsOf(
  { metric, level }: Leveled,
  relays: readonly RelayDays[],
  input: PlanInput,
): PlannedWindow[] {
  const invalid = relays.flatMap((days) =>
    (days.ranges.get(metric.name) ?? []).map((range) => ({ days, range })),
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
      from: dayOfNumber(from),
      until: dayOfNumber(until + 1),
    }));
  });
}

function daysMaxOf({ materialized, daysMax }: MaterializedMetric, relays: number, input: PlanInput): number {
  if (materialized === 'monthly') return Number.POSITIVE_INFINITY;
  return Math.max(1, Math.floor(Math.min(daysMax ?? input.daysMax, input.daysMax) / relays));
}

/** The window of a metric over the whole history: every value of the type `Date`. */
export const EVERYTHING = { from: '1970-01-01', until: '2149-06-06' } as const;

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

function inScope(scope: InvalidationScope, day: number, days: readonly number[], last: number): Range {
  if (scope === 'onward') return [day, Math.max(day, last)];
  if (scope === 'day') return [day, day];
  const before = days.findLast((other) => other < day);
  const after = days.find((other) => other > day);
  return [before === undefined ? day : before + 1, after ?? day];
}

function wholeMonths([a, b]: Range): Range {
  const first = new Date(a * DAY_MS);
  const last = new Date(b * DAY_MS);
  return [
    Date.UTC(first.getUTCFullYear(), first.getUTCMonth(), 1) / DAY_MS,
    Date.UTC(last.getUTCFullYear(), last.getUTCMonth() + 1, 0) / DAY_MS,
  ];
}

/** Joins ranges that overlap, adjoin, or have no day with data between them: one statement costs less than two. */
function merge(ranges: readonly Range[], days: readonly number[]): Range[] {
  const merged: [number, number][] = [];
  for (const [a, b] of [...ranges].sort((x, y) => x[0] - y[0] || x[1] - y[1])) {
    const open = merged.at(-1);
    if (open && !anyBetween(days, open[1], a)) open[1] = Math.max(open[1], b);
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
  const inside = [...new Set(days)].filter((day) => day >= a && day <= b).sort((x, y) => x - y);
  const starts = inside.filter((_, i) => i > 0 && i % daysMax === 0);
  return [a, ...starts].map(
    (from, i): Range => [from, starts[i] === undefined ? b : (starts[i] as number) - 1],
  );
}
