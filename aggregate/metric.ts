import type { z } from 'zod';
import { type Column, type Columns, clickhouseType } from '../infra/clickhouse/columns.ts';
import type { Sql } from '../infra/clickhouse/sql.ts';
import { type Table, table } from '../infra/clickhouse/table.ts';
import type { Window } from '../ingest/raw/canonical.ts';

/**
 * How wide a recomputed window is: days, months, or everything of a relay chain at once, where an entity's life
 * may span years.
 */
export type WindowSize = 'daily' | 'monthly' | 'whole';

/**
 * Which days a touched day changes, before `reach` is added: itself; or also the empty days beside it and the
 * next day with blocks, whose first block is judged against its last; or everything from it on.
 */
export type InvalidationScope = 'day' | 'neighbours' | 'onward';

export type Relay = 'polkadot' | 'kusama' | 'westend' | 'solo';
export const SERVED_RELAYS: readonly Relay[] = ['polkadot', 'kusama', 'solo'];

/** One path under which a metric is asked for. */
export interface MetricEndpoint<C extends Columns = Columns> {
  readonly path: string;
  readonly summary: string;
  /** Relay chains that the path serves; others are refused. */
  readonly relays: readonly Relay[];
  /** Which of these two parameters the path has; both when absent. */
  readonly takes?: readonly ('relay_chain' | 'chain')[];
  /** What an omitted relay chain or chain means, where it is not "all of them". */
  readonly defaults?: { readonly relay_chain: Relay; readonly chain?: string };
  readonly dates?: {
    /** Null where the dates are accepted and change nothing. */
    readonly column: (keyof C & string) | null;
    /** Rows before this day are never served. */
    readonly floor?: string;
    readonly required: boolean;
  };
  readonly filters?: Readonly<Record<string, Filter>>;
  /** Rows of one answer when the reader names no limit; without it, all of them. */
  readonly listed?: boolean;
  /** The order of this path's answers, where it is not the metric's. */
  readonly order?: readonly Ordering[];
}

/**
 * A parameter besides relay chain, chain and dates: its schema and the condition that it becomes. An array schema
 * makes it a repeated parameter, whose values are alternatives.
 */
export interface Filter {
  readonly schema: z.ZodType;
  readonly required?: boolean;
  readonly condition: (value: never) => Sql;
}

export type Ordering = string | { readonly column: string; readonly descending: true };

interface Definition<C extends Columns> {
  readonly record: string;
  readonly doc: string;
  readonly columns: C;
  /** Columns that later computations need and no reader sees, with their ClickHouse types. */
  readonly internal?: Readonly<Record<string, string>>;
  /** Columns that make a row unique, internal ones included. */
  readonly key: readonly string[];
  /** The order of an answer; the key when absent. */
  readonly order?: readonly Ordering[];
  /** Which rows an answer may hold, where the table has more; `chain` is the one that is asked for, if any. */
  readonly served?: (chain: string | undefined) => Sql;
  readonly endpoints: readonly MetricEndpoint<C>[];
}

export interface MaterializedMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: WindowSize;
  /** Days after a changed day whose rows depend on it, itself included. */
  readonly lookbackDays: number;
  readonly invalidationScope: InvalidationScope;
  /** Days with data in one window at most, where so much is folded of each that the usual number is too many. */
  readonly daysMax?: number;
  /** The column that says which window a row belongs to; none where the window is everything. */
  readonly period: (keyof C & string) | null;
  /** The rows of a window; with a fold, the facts that it is given. */
  readonly select: (window: Window) => Sql;
  /** State machines that SQL would hide: a pure function from ordered facts to rows of all columns. */
  readonly fold?: (facts: readonly never[], window: Window) => readonly Readonly<Record<string, unknown>>[];
  readonly table: Table;
  readonly name: string;
}

export interface ViewMetric<C extends Columns = Columns> extends Definition<C> {
  readonly materialized: false;
  /** All rows, or those of one chain where the path has a default chain. */
  readonly select: (of: { relay_chain: string; chain: string }) => Sql;
  readonly name: string;
}

export type Metric = MaterializedMetric | ViewMetric;

type Given<M> = Omit<M, 'table' | 'name'>;

/** Any window shows what a metric reads and how. */
const ANY_WINDOW: Window = { relay_chain: 'polkadot', from: '2020-01-01', until: '2020-01-02' };

/** A metric that is computed ahead, window by window, into a table of its own name. */
export function metric<const C extends Columns>(given: Given<MaterializedMetric<C>>): MaterializedMetric {
  const name = snake(given.record);
  const erased = given as unknown as Given<MaterializedMetric>;
  const served = Object.entries(given.columns).map(([column, schema]) => [
    column,
    clickhouseType(schema as Column),
  ]);
  return {
    ...erased,
    name,
    table: table({
      name,
      recipe: `${erased.select(ANY_WINDOW).text}${erased.fold ?? ''}`,
      doc: given.doc,
      columns: { ...Object.fromEntries(served), ...given.internal, version: 'UInt64', is_deleted: 'UInt8' },
      engine: 'ReplacingMergeTree(version, is_deleted)',
      orderBy: given.key,
    }),
  };
}

/** A metric that is computed when it is read. */
export function viewMetric<const C extends Columns>(given: Given<ViewMetric<C>>): ViewMetric {
  return { ...(given as unknown as Given<ViewMetric>), name: snake(given.record) };
}

export function snake(record: string): string {
  return record.replace(/(?<!^)([A-Z])/g, '_$1').toLowerCase();
}

/** What a kept metric reads: raw streams by their table, and other metrics. */
export function dependencies(metric: MaterializedMetric): ReadonlySet<string> {
  return metric.select(ANY_WINDOW).tables;
}
