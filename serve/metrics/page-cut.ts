import { type Column, clickhouseType } from '../../aggregate/columns.ts';
import type { Format } from '../../infra/ports.ts';

// A query reads one row more than the page, to see if another page follows. The extra row is cut off the bytes, because
// parsing all rows would cost more than rendering them.

/** The bytes of a page, and its last row if another page follows. */
interface CutPage {
  readonly body: Buffer;
  readonly last: Readonly<Record<string, unknown>> | null;
}

const [NEWLINE, COMMA] = [0x0a, 0x2c];

/** Whether a format has one line per row: JSON values contain no raw line breaks. */
export const hasRowPerLine = (format: Format): format is 'JSON' | 'NDJSON' =>
  format === 'JSON' || format === 'NDJSON';

/** Cuts the bytes after `limit` rows. Modifies `bytes`. */
export function cutPage(bytes: Buffer, format: 'JSON' | 'NDJSON', limit: number): CutPage {
  // The first line of a JSON list is its bracket.
  const linesBefore = format === 'JSON' ? 1 : 0;
  const start = afterLines(bytes, linesBefore + limit - 1, 0);
  const end = start < 0 ? -1 : bytes.indexOf(NEWLINE, start);
  if (end < 0) return { body: bytes, last: null };
  if (format === 'NDJSON') {
    if (end + 1 === bytes.length) return { body: bytes, last: null };
    return { body: bytes.subarray(0, end + 1), last: rowIn(bytes, start, end) };
  }
  if (bytes[end - 1] !== COMMA) return { body: bytes, last: null };
  const last = rowIn(bytes, start, end - 1);
  return { body: bytes.subarray(0, end - 1 + bytes.write(LIST_END, end - 1)), last };
}

const LIST_END = '\n]\n';

/** Offset after a number of lines; -1 if there are fewer. */
function afterLines(bytes: Buffer, lines: number, from: number): number {
  let at = from;
  for (let line = 0; line < lines; line++) {
    at = bytes.indexOf(NEWLINE, at) + 1;
    if (at === 0) return -1;
  }
  return at;
}

const rowIn = (bytes: Buffer, start: number, end: number) =>
  JSON.parse(bytes.toString('utf8', start, end)) as Record<string, unknown>;

/** Converts a value of a JSON row to its form in a cursor. */
export function cursorValue(value: unknown, column: Column): unknown {
  const isMoment = typeof value === 'string' && clickhouseType(column).includes('DateTime64');
  return isMoment ? value.replace('T', ' ').replace('Z', '') : value;
}
