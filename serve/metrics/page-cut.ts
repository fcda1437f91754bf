import { type Column, clickhouseType } from '../../aggregate/columns.ts';
import type { Format } from '../../infra/ports.ts';

// The query reads one row more than a page has, to find out whether another page follows. The page is then cut out of
// the bytes: parsing all its rows would cost more than rendering them.

/** A page as it is sent, and its last row when another page follows. */
interface CutPage {
  readonly body: Buffer;
  readonly last: Readonly<Record<string, unknown>> | null;
}

const [NEWLINE, COMMA] = [0x0a, 0x2c];

/** Formats with one line for each row: no JSON value contains a raw line break. */
export const isCut = (format: Format): format is 'JSON' | 'NDJSON' =>
  format === 'JSON' || format === 'NDJSON';

/** The first `limit` rows of bytes that hold one more, if there is one. The bytes are changed where they are cut. */
export function cutPage(bytes: Buffer, format: 'JSON' | 'NDJSON', limit: number): CutPage {
  // A bracket stands on the line before the rows of a list.
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

/** Offset of the line after so many lines; -1 when there are fewer. */
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

/** A value that JSON serves, as a cursor holds it. */
export function pointerTo(value: unknown, column: Column): unknown {
  const isMoment = typeof value === 'string' && clickhouseType(column).includes('DateTime64');
  return isMoment ? value.replace('T', ' ').replace('Z', '') : value;
}
