import type { Store } from '../../infra/ports.ts';
import { sql } from '../../infra/sql.ts';
import { type ChainKey, ofChain } from '../raw/canonical.ts';
import { blocks } from '../raw/tables.ts';
import { skippedNumbers } from './skipped-heights.ts';

/** An inclusive range of heights. */
export interface HeightRange {
  readonly from: number;
  readonly to: number;
}

/**
 * Ranges of heights without a final block in the store. Holes between stored blocks come first, then the ranges before
 * and after all stored blocks. `withoutSkipped` leaves out skipped heights.
 */
export async function missingHeights(
  store: Store,
  chain: ChainKey,
  { from, to }: HeightRange,
  rangesMax: number,
  { withoutSkipped = false } = {},
): Promise<HeightRange[]> {
  const skipped = withoutSkipped
    ? sql`UNION ALL SELECT number FROM (${skippedNumbers(chain)}) WHERE number >= ${from} AND number <= ${to}`
    : sql``;
  const stored = sql`SELECT number FROM ${blocks} FINAL
    WHERE ${ofChain(chain)} AND number >= ${from} AND number <= ${to}
      AND finalized ${skipped}`;
  return store.rows<HeightRange>(sql`
    SELECT previous + 1 AS from, height - 1 AS to
    FROM (
      SELECT height, lagInFrame(height, 1, toInt64(${from - 1})) OVER (ORDER BY height ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS previous
      FROM (SELECT toInt64(number) AS height FROM (${stored}) UNION ALL SELECT toInt64(${to + 1}))
    )
    WHERE height > previous + 1
    ORDER BY previous = ${from - 1} OR height = ${to + 1}, previous
    LIMIT ${rangesMax}`);
}

export function* heightsOf(ranges: readonly HeightRange[]): Generator<number> {
  for (const { from, to } of ranges) for (let height = from; height <= to; height++) yield height;
}

/** Groups sorted heights into ranges. */
export function rangesOf(heights: readonly number[]): HeightRange[] {
  const ranges: { from: number; to: number }[] = [];
  for (const height of heights) {
    const last = ranges.at(-1);
    if (last?.to === height - 1) last.to = height;
    else ranges.push({ from: height, to: height });
  }
  return ranges;
}

export function countHeights(ranges: readonly HeightRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
}

const NUMBER_FIRST = /^\s*\{\s*"number"\s*:\s*"?(\d{1,15})\b/;
const HEAD_BYTES = 256;

/** Reads the height of a bare block from its first bytes; null if the layout is not Sidecar's. */
export function heightAtStart(block: Buffer): number | null {
  const [, height] = NUMBER_FIRST.exec(block.toString('latin1', 0, HEAD_BYTES)) ?? [];
  return height === undefined ? null : Number(height);
}
