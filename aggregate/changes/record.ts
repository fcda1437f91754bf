import { ident, join, type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { partsOf } from '../../infra/parts.ts';
import type { Store } from '../../infra/ports.ts';
import { ofRelays, type Window } from '../../ingest/raw/canonical.ts';
import type { EntityId, MaterializedMetric } from '../metric.ts';
import { sliceKeyOfRow, sliceOfRow, slicingOf } from './slices.ts';
import { metricChanges } from './tables.ts';

/** The slices of a metric that may have changed: those of days, of entities, with rows above a version, or all. */
export type Suspects =
  | { readonly of: 'days'; readonly windows: readonly Window[] }
  | { readonly of: 'entities'; readonly entities: readonly EntityId[] }
  | { readonly of: 'version'; readonly since: bigint }
  | { readonly of: 'all' };

export interface Comparison {
  readonly metric: MaterializedMetric;
  readonly suspects: Suspects;
}

interface Recording {
  readonly comparisons: readonly Comparison[];
  readonly run: bigint;
  readonly sequence: bigint;
  /** Changes of these runs may have become visible too late: they are recorded again. */
  readonly unconfirmedFrom: bigint | null;
}

/** Metrics of one statement: they bound its memory. */
const METRICS_MAX = 6;
/** Statements that run at the same time: the engine plans each on one processor. */
const STATEMENTS_MAX = 2;

/** Records the slices whose rows differ from those of their last recorded change. Equal rows make no change. */
export async function recordChanges(store: Store, recording: Recording): Promise<void> {
  const statements = [...partsOf(recording.comparisons, METRICS_MAX, () => 1)].map((comparisons) =>
    statement({ ...recording, comparisons }),
  );
  for (const some of partsOf(statements, STATEMENTS_MAX, () => 1)) {
    const ended = await Promise.allSettled(some.map((one) => store.run(one)));
    // Only now: a statement that still ran would record changes under a number that was told already.
    for (const outcome of ended) if (outcome.status === 'rejected') throw outcome.reason;
  }
}

function statement({ comparisons, run, sequence, unconfirmedFrom }: Recording): Sql {
  const isUnconfirmed = unconfirmedFrom === null ? sql`0` : sql`run >= ${unconfirmedFrom}`;
  const parts = comparisons.flatMap((one) => [present(one), ...written(one)]);
  parts.push(recorded(comparisons, isUnconfirmed));
  return sql`INSERT INTO ${metricChanges} (metric, relay_chain, chain, slice, row_count, digest, run, sequence)
    SELECT metric, of_relay, of_chain, slice, sumIf(of_rows, NOT is_record) AS now_rows, sumIf(of_hash, NOT is_record) AS now_hash,
      ${run}, ${sequence}
    FROM (${join(parts, ' UNION ALL ')})
    GROUP BY metric, of_relay, of_chain, slice
    HAVING max(is_suspect) AND (now_rows != sumIf(of_rows, is_record) OR now_hash != sumIf(of_hash, is_record))`;
}

/** The rows that the suspects have now. */
function present({ metric, suspects }: Comparison): Sql {
  const hash = sql`sipHash64(tuple(0, ${join(Object.keys(metric.columns).map(ident))}))`;
  return sql`SELECT ${metric.name} AS metric, ${sliceOfRow(metric)}, toInt64(count()) AS of_rows, sum(${hash}) AS of_hash,
      1 AS is_suspect, 0 AS is_record
    FROM ${metric.table} FINAL WHERE ${presentRows(metric, suspects)} GROUP BY of_relay, of_chain, slice`;
}

function presentRows(metric: MaterializedMetric, suspects: Suspects): Sql {
  if (suspects.of === 'all') return sql`1`;
  if (suspects.of === 'days') return inWindows(suspects.windows, ident(metric.period as string));
  if (suspects.of === 'entities')
    return sql`${ident(slicingOf(metric).column as string)} IN ${suspects.entities}`;
  const key = sliceKeyOfRow(metric);
  return sql`(${key}) IN (SELECT DISTINCT ${key} FROM ${metric.table} WHERE version > ${suspects.since})`;
}

/** Suspects that may have no row any more: deleted rows have a version too. */
function written({ metric, suspects }: Comparison): Sql[] {
  if (suspects.of !== 'version') return [];
  return [
    sql`SELECT ${metric.name}, ${sliceOfRow(metric)}, toInt64(0), toUInt64(0), 1, 0
      FROM ${metric.table} WHERE version > ${suspects.since} GROUP BY of_relay, of_chain, slice`,
  ];
}

/** What is unconfirmed counts as a number of rows that no slice has. */
function recorded(comparisons: readonly Comparison[], isUnconfirmed: Sql): Sql {
  const bySlices = Map.groupBy(comparisons, ({ suspects }) => suspectSlices(suspects).text);
  const ofThese = [...bySlices.values()].map((some) => {
    const [{ suspects }] = some as [Comparison];
    return sql`(metric IN ${some.map(({ metric }) => metric.name)} AND ${suspectSlices(suspects)})`;
  });
  const byVersion = comparisons.filter(({ suspects }) => suspects.of === 'version');
  const isSuspect =
    byVersion.length > 0 ? sql`metric NOT IN ${byVersion.map(({ metric }) => metric.name)}` : sql`1`;
  return sql`SELECT toString(metric), toString(relay_chain), toString(chain), slice, if(${isUnconfirmed}, -1, row_count),
      digest, ${isSuspect}, 1
    FROM ${metricChanges} FINAL WHERE ${join(ofThese, ' OR ')}`;
}

function suspectSlices(suspects: Suspects): Sql {
  if (suspects.of === 'days') return inWindows(suspects.windows, sql`slice`);
  return suspects.of === 'entities' ? sql`slice IN ${suspects.entities.map(String)}` : sql`1`;
}

/** A text of a day compares like the day. */
const inWindows = (windows: readonly Window[], day: Sql): Sql =>
  sql`(${join(
    windows.map(
      (window) => sql`(${ofRelays(window)} AND ${day} >= ${window.from} AND ${day} < ${window.until})`,
    ),
    ' OR ',
  )})`;

/** More ranges than these are compared as the one that they are in. */
const RANGES_MAX = 64;

/** What a run that computed these windows, whole days, may have changed of a metric. */
export function suspectsOf(metric: MaterializedMetric, windows: readonly Window[], since: bigint): Suspects {
  if (metric.period === null) return { of: 'version', since };
  const joined = [...Map.groupBy(windows, ({ relays }) => relays.join()).values()].flatMap(joinAdjacent);
  if (joined.length <= RANGES_MAX) return { of: 'days', windows: joined };
  const relays = [...new Set(joined.flatMap((window) => window.relays))].sort();
  const [from] = joined.map((window) => window.from).sort() as [string];
  const until = joined
    .map((window) => window.until)
    .sort()
    .at(-1) as string;
  return { of: 'days', windows: [{ relays, from, until }] };
}

/** Joins windows of the same relay chains that overlap or follow each other. */
function joinAdjacent(windows: readonly Window[]): Window[] {
  const joined: { relays: readonly string[]; from: string; until: string }[] = [];
  for (const { relays, from, until } of windows.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    const last = joined.at(-1);
    if (last && from <= last.until) [, last.until] = [last.until, until].sort() as [string, string];
    else joined.push({ relays, from, until });
  }
  return joined;
}
