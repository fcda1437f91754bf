import { AsyncLocalStorage } from 'node:async_hooks';
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
import kafkajs from 'kafkajs';
import { BatchRecords } from './batch-records.ts';
import { lz4Blocks, snappyBlocks } from './foreign-codecs.ts';

// Batches are compressed whole: brokers limit what they take, not what it becomes.

const { CompressionCodecs, CompressionTypes } = kafkajs;
export const ZSTD = CompressionTypes.ZSTD;

export interface DecompressionLimits {
  /** Of one message. */
  readonly messageBytes: number;
  /** Of all batches of one fetch. */
  readonly fetchBytes: number;
}

type DecompressionOptions = Pick<ZlibOptions, 'chunkSize' | 'maxOutputLength'>;

interface Codec {
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

const zstd: Codec = {
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

/** The bytes that a fetch has given so far, in the context of that fetch. */
const fetched = new AsyncLocalStorage<{ bytes: number }>();
/** Called when a fetch begins, in the context in which its batches are decoded. */
export const onFetchStart = (): void => fetched.enterWith({ bytes: 0 });

/** By this name kafkajs knows a batch that a fetch gives in part: it is fetched again. */
class PartialBatch extends Error {
  override readonly name = 'KafkaJSPartialMessageError';
}

const CODECS: readonly (readonly [type: number, codec: Codec])[] = [
  [ZSTD, zstd],
  [CompressionTypes.GZIP, gzipped],
  [CompressionTypes.LZ4, readOnly('LZ4', lz4Blocks)],
  [CompressionTypes.Snappy, readOnly('Snappy', snappyBlocks)],
];

/** Makes kafkajs decompress within limits, also what other producers compress. */
export function limitDecompression(limits: DecompressionLimits): void {
  for (const [type, codec] of CODECS) {
    CompressionCodecs[type as typeof ZSTD] = () => ({
      compress: ({ buffer }: { buffer: Buffer }) => codec.compress(buffer),
      decompress: (bytes: Buffer) => decompressed(bytes, codec, limits),
    });
  }
}

async function decompressed(bytes: Buffer, codec: Codec, limits: DecompressionLimits): Promise<Buffer> {
  const fetch = fetched.getStore() ?? { bytes: 0 };
  const room = Math.min(limits.messageBytes, limits.fetchBytes - fetch.bytes);
  let records: Buffer;
  try {
    if (room <= 0) throw new PartialBatch();
    const { chunkSize } = chunkFor(bytes.length * DECOMPRESSED_RATIO);
    records = await codec.decompress(bytes, { chunkSize: Math.min(chunkSize, room), maxOutputLength: room });
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    if (fetch.bytes > 0) throw new PartialBatch();
    records = await largeRecords(bytes, codec, limits);
  }
  fetch.bytes += records.length;
  return records;
}

/** Decompresses piece by piece: of messages that are too large only the beginning is ever in memory. */
async function largeRecords(bytes: Buffer, codec: Codec, limits: DecompressionLimits): Promise<Buffer> {
  const records = new BatchRecords({ recordBytes: limits.messageBytes, bytes: limits.fetchBytes });
  for await (const piece of codec.pieces(bytes, { chunkSize: STREAM_CHUNK_BYTES })) records.push(piece);
  return records.whole();
}
