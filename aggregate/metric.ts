import type { z } from 'zod';
import { ident, type Sql, sql } from '../infra/sql.ts';
import { type Table, table } from '../infra/table.ts';
import type { ChainKey, Window } from '../ingest/raw/canonical.ts';
import { type Column, type Columns, clickhouseType, isName } from './columns.ts';
import { toSnakeCase } from './metric-name.ts';

/**
 * The unit of a window: hours, days, months, or the whole history of a relay chain, for metrics whose entities may
 * change over years. Hourly windows let a new block recompute its hour instead of its day.
 */
export type WindowSize = 'hourly' | 'daily' | 'monthly' | 'whole';

/**
 * The days that a dirty day invalidates, before `lookbackDays` widens them.
 *
 * - `day`: the dirty day
 * - `neighbours`: also the empty days next to the dirty day, and the next day with blocks, because its first block is
 *   compared with the last block of the dirty day
 * - `onward`: the dirty day and all later days
 */
export type InvalidationScope = 'day' | 'neighbours' | 'onward';

export type Relay = 'polkadot' | 'kusama' | 'westend' | 'solo';
export const SERVED_RELAYS: readonly Relay[] = ['polkadot', 'kusama', 'solo'];

/** One path of the API that serves a metric. */
export interface MetricEndpoint<C extends Columns = Columns> {
  readonly path: string;
  /** The title of the metric when absent. A second path of a metric has its own title. */
  readonly title?: string;
  /** One phrase that adds to the title, without a full stop. */
  readonly summary: string;
  /** Relay chains that the path serves; it refuses others. */
  readonly relays: readonly Relay[];
  /** The path accepts these parameters; both when absent. */
  readonly scopeParameters?: readonly ('relay_chain' | 'chain')[];
  /** Values for parameters that a request omits; when absent, such a request gets all chains. */
  readonly defaults?: { readonly relay_chain: Relay; readonly chain?: string };
  readonly dates?: {
    /** Null if the path accepts dates and ignores them. */
    readonly column: (keyof C & string) | null;
    /** Rows before this day are never served. */
    readonly floor?: string;
    readonly required: boolean;
  };
  readonly filters?: Readonly<Record<string, Filter>>;
  /** Limits the rows of a response by default. */
  readonly isLimited?: boolean;
  /** The order of the metric when absent. */
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

/** Domains with their titles; the catalogue lists metrics by domain. */
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
  /** A short noun phrase, in the plural. */
  readonly title: string;
  readonly domain: MetricDomain;
  readonly doc: string;
  readonly columns: C;
  /** The column that charts draw by default; when absent, the one with the title of the metric, or the first. */
  readonly mainColumn?: keyof C & string;
  /** SQL of columns whose value differs while the day is running. */
  readonly provisionalColumns?: Readonly<Record<string, string>>;
  /** Columns that other metrics read and the API does not serve, with their ClickHouse types. */
  readonly internal?: Readonly<Record<string, string>>;
  /** Columns that identify a row, internal ones included. */
  readonly key: readonly string[];
  /** The order of the rows of a response; the key when absent. */
  readonly order?: readonly Ordering[];
  /** Selects the rows that the API serves; all when absent. `chain` is the requested chain, if any. */
  readonly servedRows?: (chain: string | undefined) => Sql;
  readonly endpoints: readonly MetricEndpoint<C>[];
}

interface FoldedRelay {
  readonly relay_chain: string;
}

export interface MaterializedMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: WindowSize;
  /** Days of input of a row, its own day included; a dirty day invalidates as many days. */
  readonly lookbackDays: number;
  readonly invalidationScope: InvalidationScope;
  /** The column that assigns a row to a window; null if the window is the whole history. */
  readonly period: string | null;
  /** The rows of a window or of some of its entities; if there is a fold, its facts. */
  readonly select: (window: Window, entities?: readonly EntityId[]) => Sql;
  /**
   * A pure function from ordered facts to rows, for state machines that are hard to read in SQL. Each window then has
   * one relay chain.
   */
  readonly fold?: (
    facts: readonly never[],
    relay: FoldedRelay,
  ) => readonly Readonly<Record<string, unknown>>[];
  /** Version of the fold, 1 when absent. Raise it when a change of its code can change rows. */
  readonly version?: number;
  /** Set if only changed entities are computed; the window is then the whole history. */
  readonly entities?: Entities;
  /** The condition of the stored rows that a window replaces. */
  readonly storedRows: (window: Window) => Sql;
  readonly table: Table;
  readonly name: string;
}

const TIME_AND_CHAIN = new Set(['date', 'month', 'relay_chain', 'chain']);

/** The key columns besides time and chain, such as the vote type; most metrics have none. */
export const seriesDimensions = ({ key }: Metric): readonly string[] =>
  key.filter((name) => !TIME_AND_CHAIN.has(name));

/** True if charts can draw the metric: for each chain and day or month, it has one row, or one row for each series. */
export const isTimeSeries = (metric: Metric): boolean =>
  (metric.key.includes('date') || metric.key.includes('month')) &&
  seriesDimensions(metric).every((name) => isName(metric.columns[name]));

/** The columns of the table without `version` and `is_deleted`. */
export const computedColumns = ({ columns, internal = {} }: MaterializedMetric): string[] => [
  ...Object.keys(columns),
  ...Object.keys(internal),
];

export const hasOneRelayPerWindow = ({ fold, entities }: MaterializedMetric): boolean =>
  fold !== undefined || entities !== undefined;

/** Identifies an entity: a referendum by its index, a month by its last day. */
export type EntityId = string | number;

/** The entities of a metric, such as referenda. Each entity is computed alone, from rows of other metrics. */
export interface Entities {
  /** The column that names the entity of a row. */
  readonly column: string;
  /** Selects each `entity` that rows above the version `after` change, tombstones included; all entities for 0. */
  readonly changed: (relayChain: string, after: bigint) => Sql;
  /** Selects each `entity` with its approximate number of `facts`, which bounds the memory of a fold. */
  readonly sizes?: (relayChain: string, entities: readonly EntityId[]) => Sql;
}

export type EntityMetric = MaterializedMetric & { readonly entities: Entities };
export const hasEntities = (metric: MaterializedMetric): metric is EntityMetric =>
  metric.entities !== undefined;

export interface ViewMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: false;
  /** Selects all rows, or the rows of one chain if the endpoint has a default chain. */
  readonly select: (chain: ChainKey) => Sql;
  readonly name: string;
}

export type Metric = MaterializedMetric | ViewMetric;

/** The declaration of a materialized metric; the rest is derived. Defaults: `lookbackDays` 1, scope `day`. */
type MetricDeclaration<C extends Columns> = Omit<
  MaterializedMetric<C>,
  'name' | 'table' | 'period' | 'storedRows' | Invalidation
> &
  Partial<Pick<MaterializedMetric, Invalidation>>;
type Invalidation = 'lookbackDays' | 'invalidationScope';

/** A column of folded rows: a hash of the others, to find rows that are stored already. */
export const DIGEST = 'digest';
/** Finds rows by version: new rows are in new parts, or in few granules of merged parts. */
const BY_VERSION = 'INDEX by_version version TYPE minmax GRANULARITY 1';

/** Any window shows which tables a metric reads, because the statements of all windows read the same tables. */
const ANY_WINDOW: Window = { relays: ['polkadot'], from: '2020-01-01', until: '2020-01-02' };

/** Declares a metric that is materialized in a table, window by window. */
export function metric<const C extends Columns>(declared: MetricDeclaration<C>): MaterializedMetric {
  const name = toSnakeCase(declared.record);
  const erased = declared as unknown as MetricDeclaration<Columns>;
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
    storedRows: (window) => (period === null ? sql`1` : isWithin(period, window)),
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

/** The first time column of an hourly metric is its period. */
function periodOf({ materialized }: MetricDeclaration<Columns>, columns: Readonly<Record<string, string>>) {
  if (materialized === 'whole') return null;
  if (materialized === 'monthly') return 'month';
  return materialized === 'daily' ? 'date' : (Object.keys(columns).find(isTimeIn(columns)) ?? null);
}

const isTimeIn = (columns: Readonly<Record<string, string>>) => (name: string) =>
  /^Date/.test(columns[name] ?? '');

/** The condition that rows have their period in a window. */
const isWithin = (period: string, { from, until }: Window): Sql =>
  sql`${ident(period)} >= ${from} AND ${ident(period)} < ${until}`;

/**
 * Partitions a table that is sorted by its period, so that a merge rewrites only the month or year of the new rows:
 * hourly tables by month, daily tables by year.
 */
function partitionOf({ key, materialized }: MetricDeclaration<Columns>, period: string | null) {
  if (period === null || key[0] !== period) return {};
  if (materialized === 'hourly') return { partitionBy: `toYYYYMM(${period})` };
  return materialized === 'daily' ? { partitionBy: `toYear(${period})` } : {};
}

/** Time columns that need an index because the table is sorted by another column. */
function unsortedTimes(
  { key }: MetricDeclaration<Columns>,
  period: string | null,
  columns: Readonly<Record<string, string>>,
): string[] {
  const times = key.filter(isTimeIn(columns));
  return [...new Set(period === null ? times : [...times, period])].filter((name) => name !== key[0]);
}

const byTime = (name: string) => `INDEX by_${name} ${name} TYPE minmax GRANULARITY 1`;

/** Declares a metric that is not stored: each query computes its rows. */
export function viewMetric<const C extends Columns>(declared: Omit<ViewMetric<C>, 'name'>): ViewMetric {
  return { ...(declared as unknown as Omit<ViewMetric, 'name'>), name: toSnakeCase(declared.record) };
}

/** The tables that a metric reads: raw tables and tables of other metrics. */
export function dependencies(metric: MaterializedMetric): ReadonlySet<string> {
  return metric.select(ANY_WINDOW).tables;
}
