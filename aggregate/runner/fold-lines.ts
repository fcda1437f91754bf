import { createHash } from 'node:crypto';
import { jsonLines } from '../../infra/clickhouse/settings.ts';
import { computedColumns, DIGEST, type MaterializedMetric } from '../metric.ts';

const ROWS_PER_PIECE = 10_000;
const NEWLINE = 0x0a;

/** The columns of the rows of `foldLines`. */
export const foldedColumns = (metric: MaterializedMetric): string[] => [
  ...computedColumns(metric),
  'version',
  'is_deleted',
];

export interface FoldInput {
  readonly relay: string;
  /** The version of tombstones; rows have the next version. */
  readonly version: string;
  /** One JSON document per line. */
  readonly facts: Uint8Array;
  /** Keys and digests of the rows of the window, one JSON document per line. */
  readonly stored: Uint8Array;
  /** Writes rows even if equal ones are stored. */
  readonly writesEqualRows: boolean;
}

type FoldedRow = Readonly<Record<string, unknown>>;

/**
 * Folds facts to rows. Yields the rows that differ from the stored ones, and tombstones for stored rows that no longer
 * exist, as JSON lines, some thousands at a time.
 */
export function* foldLines(metric: MaterializedMetric, input: FoldInput): Generator<string> {
  const rows = changedRows(metric, input);
  for (let piece = take(rows); piece.length > 0; piece = take(rows)) yield jsonLines(piece);
}

function* changedRows(
  { fold }: MaterializedMetric,
  { relay, version, facts, stored, writesEqualRows }: FoldInput,
): Generator<FoldedRow> {
  const obsolete = new Map<unknown, FoldedRow>();
  for (const row of parseLines<FoldedRow>(stored)) obsolete.set(row[DIGEST], row);
  const newVersion = String(BigInt(version) + 1n);
  for (const row of fold?.([...parseLines<never>(facts)], { relay_chain: relay }) ?? []) {
    const digest = digestOf(row);
    const isStored = obsolete.delete(digest);
    if (!isStored || writesEqualRows) yield { ...row, [DIGEST]: digest, version: newVersion, is_deleted: 0 };
  }
  for (const row of obsolete.values()) yield { ...row, version, is_deleted: 1 };
}

/** A number of 64 bits as text. */
const digestOf = (row: FoldedRow): string =>
  createHash('sha256').update(JSON.stringify(row)).digest().readBigUInt64BE().toString();

function take(rows: Iterator<FoldedRow>): FoldedRow[] {
  const piece: FoldedRow[] = [];
  while (piece.length < ROWS_PER_PIECE) {
    const { value, done } = rows.next();
    if (done) break;
    piece.push(value);
  }
  return piece;
}

function* parseLines<Line>(bytes: Uint8Array): Generator<Line> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let from = 0; from < buffer.length; ) {
    const end = buffer.indexOf(NEWLINE, from);
    const until = end < 0 ? buffer.length : end;
    if (until > from) yield JSON.parse(buffer.toString('utf8', from, until)) as Line;
    from = until + 1;
  }
}
