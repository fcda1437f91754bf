import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import {
  constants,
  createGunzip,
  createZstdDecompress,
  gunzip,
  gzip,
  type ZlibOptions,
  zstdCompress,
  zstdDecompress,
} from 'node:zlib';
import { BatchRecords } from './batch-records.ts';
import { lz4Blocks, snappyBlocks } from './foreign-codecs.ts';

// Batches are compressed whole: brokers limit what they take, not what it becomes.

export interface DecompressionLimits {
  /** Of one message. */
  readonly messageBytes: number;
  /** Of all batches of one fetch. */
  readonly fetchBytes: number;
}

type DecompressionOptions = Pick<ZlibOptions, 'chunkSize' | 'maxOutputLength'>;

export interface Codec {
  readonly compress: (bytes: Buffer) => Promise<Buffer>;
  readonly decompress: (bytes: Buffer, options: DecompressionOptions) => Promise<Buffer>;
  /** The same in pieces. */
  readonly pieces: (bytes: Buffer, options: DecompressionOptions) => Iterable<Buffer> | AsyncIterable<Buffer>;
}

/** The fastest level: messages are stored for days only. */
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Each chunk of a result costs a call to another thread, so that one chunk should hold all of it. */
const chunkFor = (bytes: number) => ({ chunkSize: Math.max(64 * 1024, Math.ceil(bytes)) });
/** Most blocks compress to less than half, and decompress to less than five times their size. */
const COMPRESSED_RATIO = 0.5;
const DECOMPRESSED_RATIO = 5;
const STREAM_CHUNK_BYTES = 2 ** 20;

export const zstd: Codec = {
  compress: (bytes) =>
    promisify(zstdCompress)(bytes, { params: LEVEL, ...chunkFor(bytes.length * COMPRESSED_RATIO) }),
  decompress: promisify(zstdDecompress),
  pieces: (bytes, options) => Readable.from([bytes]).pipe(createZstdDecompress(options)),
};
const gzipped: Codec = {
  compress: (bytes) => promisify(gzip)(bytes),
  decompress: promisify(gunzip),
  pieces: (bytes, options) => Readable.from([bytes]).pipe(createGunzip(options)),
};
const readOnly = (name: string, blocks: (bytes: Buffer) => Iterable<Buffer>): Codec => ({
  compress: async () => {
    throw new Error(`messages are not written in ${name}`);
  },
  decompress: async (bytes, { maxOutputLength = 0 }) => {
    const pieces: Buffer[] = [];
    let length = 0;
    for (const piece of blocks(bytes)) {
      length += piece.length;
      if (length > maxOutputLength) throw new TooLarge();
      pieces.push(piece);
    }
    return Buffer.concat(pieces, length);
  },
  pieces: blocks,
});

/** As zlib names it. */
class TooLarge extends Error {
  readonly code = 'ERR_BUFFER_TOO_LARGE';
}

/** The bytes that a fetch has given so far. */
export interface FetchedBytes {
  bytes: number;
}

/** By the number that the protocol gives it. */
export const CODECS: ReadonlyMap<number, Codec> = new Map([
  [1, gzipped],
  [2, readOnly('Snappy', snappyBlocks)],
  [3, readOnly('LZ4', lz4Blocks)],
  [4, zstd],
]);

/** Decompresses a batch; null where it has no room beside what its fetch gave before, so that it must be fetched again. */
export async function decompress(
  bytes: Buffer,
  codec: Codec,
  limits: DecompressionLimits,
  fetched: FetchedBytes,
): Promise<Buffer | null> {
  const room = Math.min(limits.messageBytes, limits.fetchBytes - fetched.bytes);
  if (room <= 0) return null;
  let records: Buffer;
  try {
    const { chunkSize } = chunkFor(bytes.length * DECOMPRESSED_RATIO);
    records = await codec.decompress(bytes, { chunkSize: Math.min(chunkSize, room), maxOutputLength: room });
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    if (fetched.bytes > 0) return null;
    records = await largeRecords(bytes, codec, limits);
  }
  fetched.bytes += records.length;
  return records;
}

/** Decompresses piece by piece: of messages that are too large only the beginning is ever in memory. */
async function largeRecords(bytes: Buffer, codec: Codec, limits: DecompressionLimits): Promise<Buffer> {
  const records = new BatchRecords({ recordBytes: limits.messageBytes, bytes: limits.fetchBytes });
  for await (const piece of codec.pieces(bytes, { chunkSize: STREAM_CHUNK_BYTES })) records.push(piece);
  return records.whole();
}
