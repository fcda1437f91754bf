import type { Pieces } from './ports.ts';

const CHUNK_BYTES = 256 * 1024;
const NEWLINE = Buffer.from('\n');

/** Joins lines into few large buffers, since a write of a thousand lines costs the same as a write of one. */
export function* joinLines(lines: readonly Pieces[]): Generator<Buffer> {
  let pieces: Buffer[] = [];
  let bytes = 0;
  for (const line of lines) {
    const parts = Buffer.isBuffer(line) ? [line, NEWLINE] : [...line, NEWLINE];
    pieces.push(...parts);
    bytes += parts.reduce((sum, { length }) => sum + length, 0);
    if (bytes >= CHUNK_BYTES) {
      yield Buffer.concat(pieces, bytes);
      pieces = [];
      bytes = 0;
    }
  }
  if (bytes > 0) yield Buffer.concat(pieces, bytes);
}
