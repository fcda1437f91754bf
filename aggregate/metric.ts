import type { z } from 'zod';
import { ident, type Sql, sql } from '../infra/sql.ts';
import { type Table, table } from '../infra/table.ts';
import type { ChainOf, Window } from '../ingest/raw/canonical.ts';
import { type Column, type Columns, clickhouseType, isName } from './columns.ts';
import { snake } from './metric-name.ts';

/**
 * What a window covers: hours, days, months, or the whole history of a relay chain, for metrics whose entities may
 * change over years. Rows of hourly windows have an hour or a moment as their period: of a day that has new blocks only
 * the hours of these blocks are computed.
 */
export type WindowSize = 'hourly' | 'daily' | 'monthly' | 'whole';

/**
 * The days that a dirty day invalidates, before `lookbackDays` widens them: `day`, itself; `neighbours`, also the
 * empty days before and after it and the next day with blocks, whose first block is compared with its last block;
 * `onward`, itself and all later days.
 */
export type InvalidationScope = 'day' | 'neighbours' | 'onward';

export type Relay = 'polkadot' | 'kusama' | 'westend' | 'solo';
export const SERVED_RELAYS: readonly Relay[] = ['polkadot', 'kusama', 'solo'];

/** One path of the API that serves a metric. */
export interface MetricEndpoint<C extends Columns = Columns> {
  readonly path: string;
  /** Where it is another one than that of the metric, as of a second path. */
  readonly title?: string;
  /** What it answers, in words that its title does not say. */
  readonly summary: string;
  /** Relay chains that the path serves; it refuses others. */
  readonly relays: readonly Relay[];
  /** The parameters of these two that the path has; both when absent. */
  readonly scopeParameters?: readonly ('relay_chain' | 'chain')[];
  /** The values of an omitted relay chain and chain, where they are not "all". */
  readonly defaults?: { readonly relay_chain: Relay; readonly chain?: string };
  readonly dates?: {
    /** Null where the path accepts dates and ignores them. */
    readonly column: (keyof C & string) | null;
    /** Rows before this day are never served. */
    readonly floor?: string;
    readonly required: boolean;
  };
  readonly filters?: Readonly<Record<string, Filter>>;
  /** Whether a response has a limited number of rows by default; otherwise it has all rows. */
  readonly isLimited?: boolean;
  /** The order of the rows, where it is not that of the metric. */
  readonly order?: readonly Ordering[];
}

/**
 * A query parameter besides relay chain, chain and dates: its schema, and the SQL condition for a value. An array
 * schema makes it a repeatable parameter: a row matches when it matches any of the values.
 */
export interface Filter {
  readonly schema: z.ZodType;
  readonly required?: boolean;
  readonly condition: (value: never) => Sql;
}

export type Ordering = string | { readonly column: string; readonly descending: true };

/** What a metric is about, with its title: metrics are listed by it. */
export const METRIC_DOMAINS = {
  activity: 'Activity',
  staking: 'Staking',
  finance: 'Finance',
  governance: 'Governance',
  coretime: 'Coretime',
  contracts: 'Contracts',
} as const;
export type MetricDomain = keyof typeof METRIC_DOMAINS;

interface Definition<C extends Columns> {
  readonly record: string;
  /** What its rows are, in the plural. */
  readonly title: string;
  readonly domain: MetricDomain;
  readonly doc: string;
  readonly columns: C;
  /** The column that is drawn where none is chosen; when absent, the one with the title of the metric, or the first. */
  readonly mainColumn?: keyof C & string;
  /** SQL of columns that have another value in rows of the day that is not over yet. */
  readonly whileDayRuns?: Readonly<Record<string, string>>;
  /** Columns that other metrics read and the API does not serve, with their ClickHouse types. */
  readonly internal?: Readonly<Record<string, string>>;
  /** Columns that identify a row, internal ones included. */
  readonly key: readonly string[];
  /** The order of the rows of a response; the key when absent. */
  readonly order?: readonly Ordering[];
  /** The condition for rows that the API serves, where the table has more; `chain` is the requested chain, if any. */
  readonly served?: (chain: string | undefined) => Sql;
  readonly endpoints: readonly MetricEndpoint<C>[];
}

/** What a fold is told besides its facts. */
interface FoldedRelay {
  readonly relay_chain: string;
}

export interface MaterializedMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: WindowSize;
  /** Days of history that a row is computed from, its own day included: a dirty day invalidates so many days. */
  readonly lookbackDays: number;
  readonly invalidationScope: InvalidationScope;
  /** The column that assigns a row to a window; null where the window is the whole history. */
  readonly period: string | null;
  /** The rows of a window, or of these entities of it; with a fold, its facts. */
  readonly select: (window: Window, entities?: readonly EntityId[]) => Sql;
  /**
   * A pure function from the ordered facts of a relay chain to rows of all columns, for state machines that are hard to
   * read in SQL. Its windows have one relay chain each.
   */
  readonly fold?: (facts: readonly never[], of: FoldedRelay) => readonly Readonly<Record<string, unknown>>[];
  /** Version of the fold, 1 when absent: raised with every change of its code that may change rows. */
  readonly version?: number;
  /** Set where only entities that have changed are computed. The window is the whole history. */
  readonly entities?: Entities;
  /** The condition of the stored rows that a window replaces. */
  readonly stored: (window: Window) => Sql;
  readonly table: Table;
  readonly name: string;
}

const IN_TIME = new Set(['date', 'month', 'relay_chain', 'chain']);

/** The columns that tell apart the rows of a chain and day or month, as kinds of votes; most metrics have none. */
export const lineParts = ({ key }: Metric): readonly string[] => key.filter((name) => !IN_TIME.has(name));

/**
 * Whether a metric has one row for each chain and day or month, or a row for each of a few parts of it, so that its
 * numbers can be drawn over time.
 */
export const isSeries = (metric: Metric): boolean =>
  (metric.key.includes('date') || metric.key.includes('month')) &&
  lineParts(metric).every((name) => isName(metric.columns[name]));

/** The columns that a metric computes: those of its table but for the version of a row. */
export const computedColumns = ({ columns, internal = {} }: MaterializedMetric): string[] => [
  ...Object.keys(columns),
  ...Object.keys(internal),
];

/** Whether the windows of a metric have one relay chain each. */
export const isOfOneRelay = ({ fold, entities }: MaterializedMetric): boolean =>
  fold !== undefined || entities !== undefined;

/** Names an entity, such as a referendum by its index or a month by its last day. */
export type EntityId = string | number;

/** The rows of a metric belong to entities, each of which is computed from rows of other metrics. */
export interface Entities {
  /** The column that names the entity of a row. */
  readonly column: string;
  /** Every `entity` that rows with a version above `after` change, deleted rows included; all entities for 0. */
  readonly changed: (relayChain: string, after: bigint) => Sql;
  /** Each `entity` of these, and about how many `facts` it is folded from; absent where no fold bounds the memory. */
  readonly sizes?: (relayChain: string, entities: readonly EntityId[]) => Sql;
}

export type EntityMetric = MaterializedMetric & { readonly entities: Entities };
export const hasEntities = (metric: MaterializedMetric): metric is EntityMetric =>
  metric.entities !== undefined;

export interface ViewMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: false;
  /** All rows, or those of one chain where the endpoint has a default chain. */
  readonly select: (of: ChainOf) => Sql;
  readonly name: string;
}

export type Metric = MaterializedMetric | ViewMetric;

/** What a materialized metric says of itself; all else is derived. `lookbackDays` is 1 and the scope `day` when absent. */
type Declared<C extends Columns> = Omit<
  MaterializedMetric<C>,
  'name' | 'table' | 'period' | 'stored' | Invalidation
> &
  Partial<Pick<MaterializedMetric, Invalidation>>;
type Invalidation = 'lookbackDays' | 'invalidationScope';

/** A column of folded rows: a hash of all others, by which a window knows the rows that are stored already. */
export const DIGEST = 'digest';
/** Finds rows by their version: new ones stand in new parts, and in few granules of merged ones. */
const BY_VERSION = 'INDEX by_version version TYPE minmax GRANULARITY 1';

/** The statements of all windows read the same tables: any window shows them. */
const ANY_WINDOW: Window = { relays: ['polkadot'], from: '2020-01-01', until: '2020-01-02' };

/** Declares a metric that is materialized, window by window, in a table of its own name. */
export function metric<const C extends Columns>(declared: Declared<C>): MaterializedMetric {
  const name = snake(declared.record);
  const erased = declared as unknown as Declared<Columns>;
  const internal = { ...erased.internal, ...(erased.fold && { [DIGEST]: 'UInt64' }) };
  const served = Object.entries(declared.columns).map(([column, schema]) => [
    column,
    clickhouseType(schema as Column),
  ]);
  const columns = { ...Object.fromEntries(served), ...internal, version: 'UInt64', is_deleted: 'UInt8' };
  const period = periodOf(erased, columns);
  return {
    lookbackDays: 1,
    invalidationScope: 'day',
    ...erased,
    internal,
    name,
    period,
    stored: (window) => (period === null ? sql`1` : isWithin(period, window)),
    table: table({
      name,
      doc: declared.doc,
      columns,
      engine: 'ReplacingMergeTree(version, is_deleted)',
      orderBy: erased.key,
      ...partitionOf(erased, period),
      indexes: [BY_VERSION, ...unsortedTimes(erased, period, columns).map(byTime)],
    }),
  };
}

/** Rows of a month or day have it as a column; those of hours begin with their hour, moment or day. */
function periodOf({ materialized }: Declared<Columns>, columns: Readonly<Record<string, string>>) {
  if (materialized === 'whole') return null;
  if (materialized === 'monthly') return 'month';
  return materialized === 'daily' ? 'date' : (Object.keys(columns).find(isTimeIn(columns)) ?? null);
}

const isTimeIn = (columns: Readonly<Record<string, string>>) => (name: string) =>
  /^Date/.test(columns[name] ?? '');

/** The condition that rows have their period in a window. */
export const isWithin = (period: string, { from, until }: Window): Sql =>
  sql`${ident(period)} >= ${from} AND ${ident(period)} < ${until}`;

/**
 * A table that is sorted by its period keeps each month or year of it in parts of its own: merges rewrite what is near the
 * new rows, however long the history is. Rows of hours are many, those of days few.
 */
function partitionOf({ key, materialized }: Declared<Columns>, period: string | null) {
  if (period === null || key[0] !== period) return {};
  if (materialized === 'hourly') return { partitionBy: `toYYYYMM(${period})` };
  return materialized === 'daily' ? { partitionBy: `toYear(${period})` } : {};
}

/** Times by which rows are looked up in a table that is sorted by something else. */
function unsortedTimes(
  { key }: Declared<Columns>,
  period: string | null,
  columns: Readonly<Record<string, string>>,
): string[] {
  const times = key.filter(isTimeIn(columns));
  return [...new Set(period === null ? times : [...times, period])].filter((name) => name !== key[0]);
}

const byTime = (name: string) => `INDEX by_${name} ${name} TYPE minmax GRANULARITY 1`;

/** Declares a metric that is a view: its rows are computed by each query. */
export function viewMetric<const C extends Columns>(declared: Omit<ViewMetric<C>, 'name'>): ViewMetric {
  return { ...(declared as unknown as Omit<ViewMetric, 'name'>), name: snake(declared.record) };
}

/** The tables that a materialized metric reads: raw tables, and those of other metrics. */
export function dependencies(metric: MaterializedMetric): ReadonlySet<string> {
  return metric.select(ANY_WINDOW).tables;
}
