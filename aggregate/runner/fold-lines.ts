import { createHash } from 'node:crypto';
import { jsonLines } from '../../infra/clickhouse/settings.ts';
import { relayOf, type Window } from '../../ingest/raw/canonical.ts';
import { computedColumns, DIGEST, type MaterializedMetric } from '../metric.ts';

const ROWS_PER_PIECE = 10_000;
const NEWLINE = 0x0a;

/** Columns of the rows that `foldLines` makes. */
export const foldedColumns = (metric: MaterializedMetric): string[] => [
  ...computedColumns(metric),
  'version',
  'is_deleted',
];

/** The rows of the window by their keys, one JSON document per line, which are compared with those of the fold. */
export interface StoredRows {
  readonly rows: Uint8Array;
  /** Whether equal rows are not written again. */
  readonly areKept: boolean;
}

/**
 * Folds facts, one JSON document per line, to rows of the metric's table as JSON lines, some thousands at a time. With
 * stored rows only those that differ are written, and tombstones of those that the fold does not give any more.
 */
export function* foldLines(
  metric: MaterializedMetric,
  window: Window,
  version: string,
  facts: Uint8Array,
  stored?: StoredRows,
): Generator<string> {
  const folded = foldOf(metric, window, facts);
  const rows = stored ? differing(folded, stored) : folded.values().map((row) => ({ ...row, is_deleted: 0 }));
  for (let piece = take(rows); piece.length > 0; piece = take(rows))
    yield jsonLines(piece.map((row) => ({ ...row, version })));
}

type FoldedRow = Readonly<Record<string, unknown>>;

function foldOf(
  { fold, foldsRelays }: MaterializedMetric,
  window: Window,
  facts: Uint8Array,
): readonly FoldedRow[] {
  if (!fold) return [];
  if (!foldsRelays) return fold([...parsedLines<never>(facts)], { relay_chain: relayOf(window) });
  const byRelay = [...factsByRelay(facts)];
  return byRelay.flatMap(([relay_chain, own]) => fold([...parsedLines<never>(own)], { relay_chain }));
}

const RELAY_FIRST = Buffer.from('{"relay_chain":"');

/** The facts of each relay chain: every line begins with it, and those of one follow each other. */
export function factsByRelay(bytes: Uint8Array): Map<string, Uint8Array> {
  const facts = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const byRelay = new Map<string, Uint8Array>();
  for (let from = 0; from < facts.length; ) {
    const nameAt = from + RELAY_FIRST.length;
    if (!facts.subarray(from, nameAt).equals(RELAY_FIRST)) throw new Error('a fact has no relay chain');
    const name = facts.subarray(nameAt, facts.indexOf('"', nameAt)).toString();
    const until = endOfRelay(facts, from, Buffer.from(`${RELAY_FIRST}${name}"`));
    byRelay.set(name, facts.subarray(from, until));
    from = until;
  }
  return byRelay;
}

const KIND = Buffer.from(',"kind":"');

/** The facts of these kinds: every line names its kind after its relay chain. */
export function factsOfKinds(facts: Buffer, kinds: readonly string[]): Buffer {
  const wanted = new Set(kinds);
  const kept: Buffer[] = [];
  for (let from = 0; from < facts.length; ) {
    const keyAt = facts.indexOf(KIND, from);
    if (keyAt < 0) throw new Error('a fact has no kind');
    const kindAt = keyAt + KIND.length;
    const kind = facts.toString('utf8', kindAt, facts.indexOf('"', kindAt));
    const end = facts.indexOf(NEWLINE, kindAt);
    const until = end < 0 ? facts.length : end + 1;
    if (wanted.has(kind)) kept.push(facts.subarray(from, until));
    from = until;
  }
  return Buffer.concat(kept);
}

function endOfRelay(facts: Buffer, from: number, begin: Buffer): number {
  let at = from;
  while (at < facts.length && facts.subarray(at, at + begin.length).equals(begin)) {
    const end = facts.indexOf(NEWLINE, at);
    at = end < 0 ? facts.length : end + 1;
  }
  return at;
}

function* differing(folded: readonly FoldedRow[], { rows, areKept }: StoredRows): Generator<FoldedRow> {
  const gone = new Map<unknown, FoldedRow>();
  for (const row of parsedLines<FoldedRow>(rows)) gone.set(row[DIGEST], row);
  for (const row of folded) {
    const digest = digestOf(row);
    const isStored = gone.delete(digest);
    if (!isStored || !areKept) yield { ...row, [DIGEST]: digest, is_deleted: 0 };
  }
  for (const row of gone.values()) yield { ...row, is_deleted: 1 };
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

function* parsedLines<Line>(bytes: Uint8Array): Generator<Line> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let from = 0; from < buffer.length; ) {
    const end = buffer.indexOf(NEWLINE, from);
    const until = end < 0 ? buffer.length : end;
    if (until > from) yield JSON.parse(buffer.toString('utf8', from, until)) as Line;
    from = until + 1;
  }
}
