import { AsyncLocalStorage } from 'node:async_hooks';
import kafkajs from 'kafkajs';
import { compress, type DecompressionLimits, decompress, type FetchedBytes } from './compression.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;
export const ZSTD = CompressionTypes.ZSTD;

/** Decompressed bytes of the fetch in this async context. */
const fetched = new AsyncLocalStorage<FetchedBytes>();
/** Called when a fetch begins, in the context in which its batches are decoded. */
export const onFetchStart = (): void => fetched.enterWith({ bytes: 0 });

/** kafkajs recognizes an incomplete batch by this name, and fetches it again. */
class PartialBatch extends Error {
  override readonly name = 'KafkaJSPartialMessageError';
}

/** Makes kafkajs decompress zstd within limits, and refuse the other codecs. */
export function limitDecompression(limits: DecompressionLimits): void {
  CompressionCodecs[ZSTD] = () => ({
    compress: ({ buffer }: { buffer: Buffer }) => compress(buffer),
    decompress: (bytes: Buffer) => decompressed(bytes, limits),
  });
  for (const name of ['GZIP', 'Snappy', 'LZ4'] as const) {
    CompressionCodecs[CompressionTypes[name]] = () => ({ compress: refuse(name), decompress: refuse(name) });
  }
}

async function decompressed(bytes: Buffer, limits: DecompressionLimits): Promise<Buffer> {
  const records = await decompress(bytes, limits, fetched.getStore() ?? { bytes: 0 });
  if (records === null) throw new PartialBatch();
  return records;
}

const refuse = (codec: string) => async () => {
  throw new Error(
    `messages compressed with ${codec} are not read: set compression.type=zstd on the topic and publish them again`,
  );
};
