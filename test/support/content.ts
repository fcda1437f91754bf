import { materializedMetrics, metrics } from '../../aggregate/metrics/index.ts';
import { type Sql, sql } from '../../infra/sql.ts';
import {
  blocks,
  calls,
  events,
  extrinsics,
  prices,
  refusedFacts,
  snapshots,
} from '../../ingest/raw/tables.ts';
import { unknownWrappers } from '../../ingest/raw/unknown-wrappers.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { servedRows } from './served.ts';

/** By table, what it says: its rows as text, sorted, without the order and the time in which they came. */
export type Content = ReadonlyMap<string, readonly string[]>;

const isLiving = sql`rank IN (SELECT rank FROM ${blocks} FINAL)`;

const RAW: readonly (readonly [name: string, rows: Sql])[] = [
  [blocks.name, sql`SELECT * EXCEPT (rank, received_at, source, run) FROM ${blocks} FINAL`],
  // Rows of a living block appear once even where the engine has not merged anything yet.
  ...[extrinsics, events, calls, refusedFacts, unknownWrappers].map(
    (table) => [table.name, sql`SELECT * EXCEPT rank FROM ${table} WHERE ${isLiving}`] as const,
  ),
  [snapshots.name, sql`SELECT * EXCEPT rank FROM ${snapshots} FINAL`],
  [prices.name, sql`SELECT * EXCEPT rank FROM ${prices} FINAL`],
];

/** Everything that readers could ever learn from a store. */
export async function contentOf(pipeline: Pipeline): Promise<Content> {
  const content = new Map<string, readonly string[]>();
  for (const [name, rows] of RAW) content.set(name, await linesOf(pipeline, rows));
  for (const { name, table } of materializedMetrics) {
    content.set(
      name,
      // These columns of `chain_hour` tell in which loads its blocks came.
      await linesOf(pipeline, sql`SELECT * EXCEPT (version, is_deleted) FROM ${table} FINAL`),
    );
  }
  for (const metric of metrics.filter(({ materialized }) => materialized === false)) {
    const rows = await servedRows(pipeline, { metric });
    content.set(metric.name, rows.map((row) => JSON.stringify(row)).sort());
  }
  return content;
}

async function linesOf(pipeline: Pipeline, rows: Sql): Promise<string[]> {
  const bytes = await pipeline.runtime.store.bytes(rows, 'NDJSON');
  // Keys are raw bytes, of which no other encoding keeps all apart.
  const text = bytes.toString('latin1').trimEnd();
  return text === '' ? [] : text.split('\n').sort();
}

const SHOWN_ROWS = 3;
const SHOWN_CHARACTERS = 300;

/** The first rows that only one of two contents has, table by table; empty when they say the same. */
export function differences(actual: Content, expected: Content): string[] {
  return [...expected].flatMap(([name, rows]) => {
    const mine = actual.get(name) ?? [];
    const shown = (title: string, only: readonly string[]) =>
      only.slice(0, SHOWN_ROWS).map((row) => `${name}, ${title}: ${row.slice(0, SHOWN_CHARACTERS)}`);
    return [...shown('missing', missingFrom(mine, rows)), ...shown('too much', missingFrom(rows, mine))];
  });
}

/** Rows of `wanted` that `rows` has not, or has less often. */
function missingFrom(rows: readonly string[], wanted: readonly string[]): string[] {
  const left = new Map<string, number>();
  for (const row of rows) left.set(row, (left.get(row) ?? 0) + 1);
  return wanted.filter((row) => {
    const count = left.get(row) ?? 0;
    left.set(row, count - 1);
    return count <= 0;
  });
}
