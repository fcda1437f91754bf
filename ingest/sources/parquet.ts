import { createWriteStream, type ReadStream } from 'node:fs';
import { mkdtemp, open, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Readable, Transform } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync, gunzipSync, zstdDecompressSync } from 'node:zlib';
import { type AsyncBuffer, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { PARQUET_BROKEN } from './parquet-broken.ts';
import { rowParts } from './parquet-parts.ts';

/** Columns that hold structure: as text they are JSON, which goes on as it is. */
const STRUCTURED: ReadonlySet<string> = new Set([
  'payload',
  'logs',
  'onInitialize',
  'extrinsics',
  'onFinalize',
]);

const toBytes = (bytes: Buffer) => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
/** A page holds the rows that a writer collected between two looks at its size. */
const LINES_PER_PAGE_MAX = 4;

type Decompress = (input: Uint8Array, length: number) => Uint8Array;
/** Where Node has a decompressor of its own, that is the faster one. */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  ...compressors,
  // An empty block is one byte, which is taken for a reference to bytes before it.
  LZ4_RAW: (input, length) =>
    length === 0 ? new Uint8Array() : (compressors.LZ4_RAW?.(input, length) as Uint8Array),
  GZIP: (input, length) => toBytes(gunzipSync(input, { maxOutputLength: Math.max(1, length) })),
  BROTLI: (input, length) => toBytes(brotliDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
  ZSTD: (input, length) => toBytes(zstdDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
};

/** A page has the length that its header names, within the limit. */
const limited = (bytesMax: number): Record<string, Decompress> =>
  Object.fromEntries(
    Object.entries(DECOMPRESS).map(([codec, decompress]) => [
      codec,
      (input: Uint8Array, length: number) => {
        if (length <= bytesMax) return decompress(input, length);
        throw new Error(
          `a page of ${length} bytes; the longest has ${bytesMax} (${LINES_PER_PAGE_MAX} × LINE_BYTES_MAX)`,
        );
      },
    ]),
  );

/** JSON of a column of that type: read as numbers, its amounts would lose digits. */
class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** The rows of a Parquet file as the lines that the same documents have as NDJSON: a field for each column. */
export async function* parquetLines(bytes: Readable, lineBytes: number): AsyncGenerator<Buffer> {
  const { file, close } = await randomAccess(bytes);
  const decompressors = limited(LINES_PER_PAGE_MAX * lineBytes);
  try {
    const metadata = await parquetMetadataAsync(file);
    for await (const { from, until } of rowParts(file, metadata)) {
      const rows = await parquetReadObjects({
        file,
        metadata,
        rowStart: from,
        rowEnd: until,
        compressors: decompressors,
        parsers: {
          jsonFromBytes: (json: Uint8Array | undefined) => json && new JsonText(Buffer.from(json).toString()),
        },
      });
      for (const row of rows) yield Buffer.from(`${lineOf(row)}\n`);
    }
  } catch (error) {
    throw Object.assign(new Error(`no readable Parquet: ${reasonOf(error)}`), { code: PARQUET_BROKEN });
  } finally {
    await close();
  }
}

/** A row is the document itself where its only column holds one. */
function lineOf(row: Readonly<Record<string, unknown>>): string {
  const fields = Object.entries(row).filter(([, value]) => value !== null && value !== undefined);
  const [only] = fields;
  if (fields.length === 1 && only && isJson(only[1])) return textOf(only[0], only[1]);
  return `{${fields.map(([name, value]) => `${JSON.stringify(name)}:${textOf(name, value)}`).join(',')}}`;
}

const isJson = (value: unknown) =>
  value instanceof JsonText || (typeof value === 'string' && /^\s*\{/.test(value));

function textOf(name: string, value: unknown): string {
  if (value instanceof JsonText) return oneLine(value.text);
  if (typeof value === 'string' && (STRUCTURED.has(name) || isJson(value))) return oneLine(value);
  return jsonOf(value);
}

/** Line ends stand only between the parts of JSON, never in its strings. */
const oneLine = (json: string) => json.replace(/[\r\n]+/g, ' ');

function jsonOf(value: unknown): string {
  if (value instanceof JsonText) return oneLine(value.text);
  if (typeof value === 'bigint') return value.toString();
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`;
  if (value === null || typeof value !== 'object' || value instanceof Date)
    return JSON.stringify(value ?? null);
  const fields = Object.entries(value).map(([name, field]) => `${JSON.stringify(name)}:${jsonOf(field)}`);
  return `{${fields.join(',')}}`;
}

/** The format is read from its end: a file is opened a second time, a stream is written to one. */
async function randomAccess(bytes: Readable): Promise<{ file: AsyncBuffer; close(): Promise<void> }> {
  const { path } = bytes as Partial<ReadStream>;
  if (typeof path === 'string') {
    bytes.destroy();
    return openFile(path);
  }
  const directory = await mkdtemp(join(tmpdir(), 'chain-metrics-'));
  try {
    const copy = join(directory, 'input.parquet');
    await pipeline(bytes, leavingRoom(directory), createWriteStream(copy));
    return await openFile(copy);
  } finally {
    // The open descriptor still reads the deleted file.
    await rm(directory, { recursive: true });
  }
}

/** What stays free where a stream is copied, and after how many bytes that is looked at. */
const FREE_BYTES_MIN = 512 * 2 ** 20;
const BYTES_PER_LOOK = 64 * 2 ** 20;

/** A stream may be longer than the disk, which others need too. */
function leavingRoom(directory: string): Transform {
  let [copied, looked] = [0, 0];
  const look = async () => {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize >= FREE_BYTES_MIN) return;
    throw new ProductError(
      'source_failed',
      `a stream of Parquet is copied to ${tmpdir()} first, where ${copied} bytes of it leave less than ${FREE_BYTES_MIN} free: set TMPDIR, or give it as a file`,
    );
  };
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      copied += piece.length;
      if (copied - looked < BYTES_PER_LOOK) return done(null, piece);
      looked = copied;
      look().then(() => done(null, piece), done);
    },
  });
}

async function openFile(path: string): Promise<{ file: AsyncBuffer; close(): Promise<void> }> {
  const handle = await open(path);
  const { size } = await handle.stat();
  const slice = async (from: number, until = size) => {
    const part = new Uint8Array(Math.max(0, until - from));
    await handle.read(part, 0, part.length, from);
    return part.buffer;
  };
  return { file: { byteLength: size, slice }, close: () => handle.close() };
}
