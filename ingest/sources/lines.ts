import { basename } from 'node:path';
import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress, type ZstdDecompress } from 'node:zlib';

const NEWLINE = 0x0a;
const RETURN = 0x0d;
/**
 * What is unpacked at a time. With the 16 KiB of Node a file of 600 MB takes a fifth longer: each piece waits for a
 * thread, and most blocks are joined of several. Each frame of zstd has a buffer of its own, which small ones pay for.
 */
const UNPACKED_BYTES = 256 * 1024;

export interface SourceLine {
  readonly number: number;
  readonly bytes: Buffer;
  /** Set when the line exceeds the limit; `bytes` holds only its beginning then. */
  readonly tooLong?: boolean;
}

/** The lines of a file by the ending of its name: gzip, zstd, Parquet or plain. */
export function decompressed(name: string, bytes: Readable, lineBytes: number): Readable {
  if (name.endsWith('.parquet')) return Readable.from(unpackParquet(bytes, lineBytes), { objectMode: false });
  if (name.endsWith('.zst')) return Readable.from(unpackZstd(bytes), { objectMode: false });
  if (!name.endsWith('.gz')) return bytes;
  // What ends one of the two ends the other, and the reader hears of it from the last.
  return pipeline(bytes, createGunzip({ chunkSize: UNPACKED_BYTES }), () => undefined);
}

/** Its decoders are loaded with the first such file. */
async function* unpackParquet(bytes: Readable, lineBytes: number): AsyncGenerator<Buffer> {
  const { parquetLines } = await import('./parquet.ts');
  yield* parquetLines(bytes, lineBytes);
}

const newFrame = (): ZstdDecompress => createZstdDecompress({ chunkSize: UNPACKED_BYTES });

/** Files that were packed one after another hold several frames; Node's own stream ends after the first. */
async function* unpackZstd(bytes: Readable): AsyncGenerator<Buffer> {
  let frame = newFrame();
  for await (const piece of bytes) {
    for (let rest = Buffer.from(piece as Buffer); rest.length > 0; ) {
      const before = frame.bytesWritten;
      yield* unpacked(frame, rest);
      rest = rest.subarray(frame.bytesWritten - before);
      if (rest.length > 0) frame = newFrame();
    }
  }
  yield* unpacked(frame);
}

/** What a frame gives for some of its bytes, or, without any, at its end. */
async function* unpacked(frame: ZstdDecompress, bytes?: Buffer): AsyncGenerator<Buffer> {
  const turn = { done: false, failure: undefined as Error | undefined, wake: () => {} };
  const done = () => {
    turn.done = true;
    turn.wake();
  };
  const fail = (error: Error) => {
    turn.failure = error;
    turn.wake();
  };
  const wake = () => turn.wake();
  frame.on('readable', wake).on('end', done).on('error', fail);
  if (bytes) frame.write(bytes, done);
  else frame.end();
  for (;;) {
    if (turn.failure) throw turn.failure;
    const out: Buffer | null = frame.read();
    if (out) yield out;
    else if (turn.done) break;
    else
      await new Promise<void>((resume) => {
        turn.wake = resume;
      });
  }
  frame.off('readable', wake).off('end', done).off('error', fail);
}

/** The name of a file without its directory and the endings that say how it is packed. */
export function bareName(file: string): string {
  return basename(file)
    .replace(/\.(gz|zst)$/, '')
    .replace(/\.(ndjson|jsonl|json|parquet)$/, '');
}

/** Cuts a stream into lines without copying those that lie within one chunk; empty lines are passed over. */
export async function* readLines(bytes: Readable, bytesMax: number): AsyncGenerator<SourceLine> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  let number = 0;
  for await (const piece of bytes) {
    const chunk: Buffer = Buffer.isBuffer(piece) ? piece : Buffer.from(piece as string);
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      const line = finish(held, heldBytes, chunk.subarray(from, end), ++number, bytesMax);
      held = [];
      heldBytes = 0;
      from = end + 1;
      if (line) yield line;
    }
    if (from < chunk.length) {
      const rest = chunk.subarray(from);
      // A refused line needs only its beginning.
      if (heldBytes <= bytesMax) held.push(rest);
      heldBytes += rest.length;
    }
  }
  const last = finish(held, heldBytes, Buffer.alloc(0), number + 1, bytesMax);
  if (last) yield last;
}

function finish(
  held: readonly Buffer[],
  heldBytes: number,
  rest: Buffer,
  number: number,
  bytesMax: number,
): SourceLine | null {
  if (heldBytes + rest.length > bytesMax) {
    return { number, bytes: Buffer.concat([...held, rest]).subarray(0, bytesMax), tooLong: true };
  }
  const whole = held.length > 0 ? Buffer.concat([...held, rest]) : rest;
  const bytes = whole.at(-1) === RETURN ? whole.subarray(0, -1) : whole;
  return isBlank(bytes) ? null : { number, bytes };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 64 && bytes.toString('latin1').trim() === '';
}
