import { jsonLines } from '../../infra/clickhouse/settings.ts';
import { relayOf, type Window } from '../../ingest/raw/canonical.ts';
import type { MaterializedMetric } from '../metric.ts';

const ROWS_PER_PIECE = 10_000;
const NEWLINE = 0x0a;

/** Columns of the rows that `foldLines` makes. */
export const foldedColumns = ({ columns, internal = {} }: MaterializedMetric): string[] => [
  ...Object.keys(columns),
  ...Object.keys(internal),
  'version',
  'is_deleted',
];

/** Folds facts, one JSON document per line, to rows of the metric's table as JSON lines, some thousands at a time. */
export function* foldLines(
  metric: MaterializedMetric,
  window: Window,
  version: string,
  facts: Uint8Array,
): Generator<string> {
  const rows = metric.fold?.([...parsedLines(facts)], { relay_chain: relayOf(window) }) ?? [];
  for (let i = 0; i < rows.length; i += ROWS_PER_PIECE) {
    yield jsonLines(rows.slice(i, i + ROWS_PER_PIECE).map((row) => ({ ...row, version, is_deleted: 0 })));
  }
}

function* parsedLines(bytes: Uint8Array): Generator<never> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let from = 0; from < buffer.length; ) {
    const end = buffer.indexOf(NEWLINE, from);
    const until = end < 0 ? buffer.length : end;
    if (until > from) yield JSON.parse(buffer.toString('utf8', from, until)) as never;
    from = until + 1;
  }
}
