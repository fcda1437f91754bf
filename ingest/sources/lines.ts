import { pipeline, Readable } from 'node:stream';
import { createGunzip, createZstdDecompress, type ZstdDecompress } from 'node:zlib';

export const LINE_END = Buffer.from('\n');
const NEWLINE = 0x0a;
const RETURN = 0x0d;
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf);
/**
 * Chunk size of decompression. With Node's 16 KiB a file of 600 MB takes a fifth longer: each chunk waits for a thread,
 * and most blocks span several. A larger size would slow down small zstd frames, because each allocates a buffer.
 */
const UNPACKED_BYTES = 256 * 1024;

export interface SourceLine {
  readonly number: number;
  readonly bytes: Buffer;
  /** Set when the line exceeds the limit; `bytes` holds only its beginning then. */
  readonly tooLong?: boolean;
}

interface Packing {
  readonly ending: string;
  /** First bytes of such a file. JSON never begins with them. */
  readonly magic: Buffer;
  readonly unpack: (bytes: Readable, lineBytes: number) => Readable;
}

const PACKINGS: readonly Packing[] = [
  {
    ending: '.parquet',
    magic: Buffer.from('PAR1'),
    unpack: (bytes, lineBytes) => Readable.from(unpackParquet(bytes, lineBytes), { objectMode: false }),
  },
  {
    ending: '.zst',
    magic: Buffer.of(0x28, 0xb5, 0x2f, 0xfd),
    unpack: (bytes) => Readable.from(unpackZstd(bytes), { objectMode: false }),
  },
  {
    ending: '.gz',
    magic: Buffer.of(0x1f, 0x8b),
    // An error of one stream destroys both, and the reader gets it from the last one.
    unpack: (bytes) => pipeline(bytes, createGunzip({ chunkSize: UNPACKED_BYTES }), () => undefined),
  },
];
const MAGIC_BYTES = 4;

/** Decompresses a file. Its extension selects gzip, zstd or Parquet; without one its first bytes do. */
export function decompress(name: string, bytes: Readable, lineBytes: number): Readable {
  const named = PACKINGS.find(({ ending }) => name.endsWith(ending));
  if (named) return named.unpack(bytes, lineBytes);
  const unpacked = Readable.from(byFirstBytes(bytes, lineBytes), { objectMode: false });
  // Otherwise a source that waits for bytes would stay open after the reader stops.
  return unpacked.once('close', () => bytes.destroy());
}

async function* byFirstBytes(bytes: Readable, lineBytes: number): AsyncGenerator<Buffer> {
  const pieces = piecesOf(bytes);
  let head: Buffer = Buffer.alloc(0);
  while (head.length < MAGIC_BYTES) {
    const { done, value } = await pieces.next();
    if (done) break;
    head = head.length === 0 ? value : Buffer.concat([head, value]);
  }
  const whole = joined(head, pieces);
  const packing = PACKINGS.find(({ magic }) => head.subarray(0, magic.length).equals(magic));
  yield* packing ? packing.unpack(Readable.from(whole, { objectMode: false }), lineBytes) : whole;
}

async function* piecesOf(bytes: Readable): AsyncGenerator<Buffer> {
  for await (const piece of bytes) yield Buffer.isBuffer(piece) ? piece : Buffer.from(piece as string);
}

async function* joined(head: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head;
    yield* rest;
  } finally {
    // Runs also if the reader stops within the head.
    await rest.return(undefined);
  }
}

/** Imports the Parquet decoders on first use. */
async function* unpackParquet(bytes: Readable, lineBytes: number): AsyncGenerator<Buffer> {
  const { parquetLines } = await import('./parquet.ts');
  yield* parquetLines(bytes, lineBytes);
}

const newFrame = (): ZstdDecompress => createZstdDecompress({ chunkSize: UNPACKED_BYTES });

/** Concatenated zstd files hold several frames. Node's own stream ends after the first. */
async function* unpackZstd(bytes: Readable): AsyncGenerator<Buffer> {
  let frame = newFrame();
  for await (const piece of bytes) {
    for (let rest = Buffer.from(piece as Buffer); rest.length > 0; ) {
      const before = frame.bytesWritten;
      yield* outputOf(frame, rest);
      rest = rest.subarray(frame.bytesWritten - before);
      if (rest.length > 0) frame = newFrame();
    }
  }
  yield* outputOf(frame);
}

/** Writes `bytes` to a frame and yields its output. Without `bytes`, ends the frame and yields the rest. */
async function* outputOf(frame: ZstdDecompress, bytes?: Buffer): AsyncGenerator<Buffer> {
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

/** Splits a stream into lines and skips empty ones. A line within one chunk is not copied. */
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
      // A line beyond the limit keeps only its beginning.
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
  const pieces = [...held, rest].filter(({ length }) => length > 0);
  const whole = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
  const hasMark = number === 1 && whole.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
  const bytes = whole.subarray(
    hasMark ? BYTE_ORDER_MARK.length : 0,
    whole.at(-1) === RETURN ? -1 : undefined,
  );
  return isBlank(bytes) ? null : { number, bytes };
}

function isBlank(bytes: Buffer): boolean {
  return bytes.length < 64 && bytes.toString('latin1').trim() === '';
}
