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
import { PARQUET_BROKEN } from './parquet-error.ts';
import { rowParts } from './parquet-parts.ts';

/** Columns whose text is JSON. The text is copied unchanged. */
const STRUCTURED: ReadonlySet<string> = new Set([
  'payload',
  'logs',
  'onInitialize',
  'extrinsics',
  'onFinalize',
]);

const toBytes = (bytes: Buffer) => new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
/** Largest page, as a multiple of the longest line: writers check the size of a page only every few rows. */
const LINES_PER_PAGE_MAX = 4;

type Decompress = (input: Uint8Array, length: number) => Uint8Array;
/** Node's own decompressors are faster than those of the library. */
const DECOMPRESS: Readonly<Record<string, Decompress>> = {
  ...compressors,
  // The library takes the single byte of an empty block for a back reference.
  LZ4_RAW: (input, length) =>
    length === 0 ? new Uint8Array() : (compressors.LZ4_RAW?.(input, length) as Uint8Array),
  GZIP: (input, length) => toBytes(gunzipSync(input, { maxOutputLength: Math.max(1, length) })),
  BROTLI: (input, length) => toBytes(brotliDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
  ZSTD: (input, length) => toBytes(zstdDecompressSync(input, { maxOutputLength: Math.max(1, length) })),
};

/** Decompressors that refuse pages of more than `bytesMax`. */
const limitedDecompressors = (bytesMax: number): Record<string, Decompress> =>
  Object.fromEntries(
    Object.entries(DECOMPRESS).map(([codec, decompress]) => [
      codec,
      (input: Uint8Array, length: number) => {
        if (length <= bytesMax) return decompress(input, length);
        throw new Error(
          `a page has ${length} bytes, and the limit is ${bytesMax} (${LINES_PER_PAGE_MAX} × LINE_BYTES_MAX)`,
        );
      },
    ]),
  );

/** The text of a JSON column. Parsing it would round large amounts. */
class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** Converts the rows of a Parquet file to NDJSON, with a field for each column. */
export async function* parquetLines(bytes: Readable, lineBytes: number): AsyncGenerator<Buffer> {
  const { file, close } = await randomAccess(bytes);
  const decompressors = limitedDecompressors(LINES_PER_PAGE_MAX * lineBytes);
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
    throw Object.assign(new Error(`not a readable Parquet file: ${reasonOf(error)}`), {
      code: PARQUET_BROKEN,
    });
  } finally {
    await close();
  }
}

/** Formats a row. A row with a single column of JSON becomes that document itself. */
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

/** JSON has line breaks only between tokens, never in its strings. */
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

/** Parquet is read from its end, so a file is opened again, and a stream is copied to a temporary file. */
async function randomAccess(bytes: Readable): Promise<{ file: AsyncBuffer; close(): Promise<void> }> {
  const { path } = bytes as Partial<ReadStream>;
  if (typeof path === 'string') {
    bytes.destroy();
    return openFile(path);
  }
  const directory = await mkdtemp(join(tmpdir(), 'chain-metrics-'));
  try {
    const copy = join(directory, 'input.parquet');
    await pipeline(bytes, requireFreeSpace(directory), createWriteStream(copy));
    return await openFile(copy);
  } finally {
    // The open descriptor still reads the deleted file.
    await rm(directory, { recursive: true });
  }
}

/** Disk space that must stay free while a stream is copied. */
const FREE_BYTES_MIN = 512 * 2 ** 20;
const BYTES_PER_CHECK = 64 * 2 ** 20;

/** Fails before a long stream fills the disk. */
function requireFreeSpace(directory: string): Transform {
  let [copied, checked] = [0, 0];
  const check = async () => {
    const { bavail, bsize } = await statfs(directory);
    if (bavail * bsize >= FREE_BYTES_MIN) return;
    throw new ProductError(
      'source_failed',
      `${tmpdir()} has less than ${FREE_BYTES_MIN} bytes left after ${copied} bytes of a Parquet stream were copied to it: set TMPDIR to a larger disk, or pass a file in place of a stream`,
    );
  };
  return new Transform({
    transform(piece: Buffer, _encoding, done) {
      copied += piece.length;
      if (copied - checked < BYTES_PER_CHECK) return done(null, piece);
      checked = copied;
      check().then(() => done(null, piece), done);
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
