import { basename } from 'node:path';
import type { Readable, Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';

const NEWLINE = 0x0a;
const RETURN = 0x0d;

export interface SourceLine {
  readonly number: number;
  readonly bytes: Buffer;
  /** Set instead of bytes when the line is longer than is taken in; its first bytes are kept. */
  readonly tooLong?: boolean;
}

/** The bytes of a file by the ending of its name: gzip, zstd or plain. */
export function decompressed(name: string, bytes: Readable): Readable {
  const unpack = name.endsWith('.gz')
    ? createGunzip()
    : name.endsWith('.zst')
      ? createZstdDecompress()
      : null;
  if (!unpack) return bytes;
  bytes.on('error', (error) => unpack.destroy(error));
  return bytes.pipe(unpack as unknown as Transform);
}

/** The name of a file without its directory and the endings that say how it is packed. */
export function bareName(file: string): string {
  return basename(file)
    .replace(/\.(gz|zst)$/, '')
    .replace(/\.(ndjson|jsonl|json)$/, '');
}

/** Cuts a stream into lines without copying those that lie within one chunk; empty lines are passed over. */
export async function* readLines(bytes: Readable, mostBytes: number): AsyncGenerator<SourceLine> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let number = 0;
  for await (const piece of bytes) {
    const chunk: Buffer = Buffer.isBuffer(piece) ? piece : Buffer.from(piece as string);
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const line = finish(held, heldBytes, chunk.subarray(from, end), ++number, mostBytes);
      held = [];
      heldBytes = 0;
      from = end + 1;
      if (line) yield line;
    }
    if (from < chunk.length) {
      const rest = chunk.subarray(from);
      // Of a line that is refused anyway only the beginning is kept.
      if (heldBytes <= mostBytes) held.push(rest);
      heldBytes += rest.length;
    }
  }
  const last = finish(held, heldBytes, Buffer.alloc(0), number + 1, mostBytes);
  if (last) yield last;
}

function finish(
  held: readonly Buffer[],
  heldBytes: number,
  rest: Buffer,
  number: number,
  mostBytes: number,
): SourceLine | null {
  if (heldBytes + rest.length > mostBytes) {
    return { number, bytes: Buffer.concat([...held, rest]).subarray(0, mostBytes), tooLong: true };
  }
  const whole = held.length > 0 ? Buffer.concat([...held, rest]) : rest;
  const bytes = whole.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
  return isBlank(bytes) ? null : { number, bytes };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 64 && bytes.toString('latin1').trim() === '';
}
