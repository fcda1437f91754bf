import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { constants, createZstdDecompress, zstdCompress, zstdDecompress } from 'node:zlib';
import { BatchRecords } from './batch-records.ts';

// Kafka compresses whole batches. Brokers limit the compressed size, so this file limits the decompressed one.

export interface DecompressionLimits {
  /** Limit of one message. */
  readonly messageBytes: number;
  /** Limit of all batches of one fetch. */
  readonly fetchBytes: number;
}

/** Decompressed bytes of a fetch so far. */
export interface FetchedBytes {
  bytes: number;
}

/** The fastest level, since messages are stored only for days. */
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** A chunk size that holds a whole result, since each chunk costs a call to another thread. */
const chunkFor = (bytes: number) => ({ chunkSize: Math.max(64 * 1024, Math.ceil(bytes)) });
/** Estimates for chunk sizes: most blocks compress to less than half, and decompress to less than five times the size. */
const COMPRESSED_RATIO = 0.5;
const DECOMPRESSED_RATIO = 5;
const STREAM_CHUNK_BYTES = 2 ** 20;

export const compress = (bytes: Buffer): Promise<Buffer> =>
  promisify(zstdCompress)(bytes, { params: LEVEL, ...chunkFor(bytes.length * COMPRESSED_RATIO) });

/** Decompresses a batch; null if the earlier batches of its fetch used up the limit, so that it must be fetched again. */
export async function decompress(
  bytes: Buffer,
  limits: DecompressionLimits,
  fetched: FetchedBytes,
): Promise<Buffer | null> {
  const room = Math.min(limits.messageBytes, limits.fetchBytes - fetched.bytes);
  if (room <= 0) return null;
  let records: Buffer;
  try {
    const { chunkSize } = chunkFor(bytes.length * DECOMPRESSED_RATIO);
    const options = { chunkSize: Math.min(chunkSize, room), maxOutputLength: room };
    records = await promisify(zstdDecompress)(bytes, options);
  } catch (error) {
    if ((error as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') throw error;
    if (fetched.bytes > 0) return null;
    records = await largeRecords(bytes, limits);
  }
  fetched.bytes += records.length;
  return records;
}

/** Decompresses in pieces, so that of a message that is too large only the beginning is in memory. */
async function largeRecords(bytes: Buffer, limits: DecompressionLimits): Promise<Buffer> {
  const records = new BatchRecords({ recordBytes: limits.messageBytes, bytes: limits.fetchBytes });
  const pieces = Readable.from([bytes]).pipe(createZstdDecompress({ chunkSize: STREAM_CHUNK_BYTES }));
  for await (const piece of pieces) records.push(piece);
  return records.whole();
}
