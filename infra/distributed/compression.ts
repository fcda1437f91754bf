import { AsyncLocalStorage } from 'node:async_hooks';
import { Readable, type Transform } from 'node:stream';
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
  readonly stream: (options: DecompressionOptions) => Transform;
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
  stream: createZstdDecompress,
};
const gzipped: Codec = {
  compress: (bytes) => promisify(gzip)(bytes),
  decompress: promisify(gunzip),
  stream: createGunzip,
};

/** The bytes that a fetch has given so far, in the context of that fetch. */
const fetched = new AsyncLocalStorage<{ bytes: number }>();
/** Called when a fetch begins, in the context in which its batches are decoded. */
export const onFetchStart = (): void => fetched.enterWith({ bytes: 0 });

/** By this name kafkajs knows a batch that a fetch gives in part: it is fetched again. */
class PartialBatch extends Error {
  override readonly name = 'KafkaJSPartialMessageError';
}

/** Makes kafkajs decompress within limits. */
export function limitDecompression(limits: DecompressionLimits): void {
  for (const [type, codec] of [
    [ZSTD, zstd],
    [CompressionTypes.GZIP, gzipped],
  ] as const) {
    CompressionCodecs[type] = () => ({
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
  const stream = Readable.from([bytes]).pipe(codec.stream({ chunkSize: STREAM_CHUNK_BYTES }));
  for await (const piece of stream) records.push(piece);
  return records.whole();
}
