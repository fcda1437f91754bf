import { AsyncLocalStorage } from 'node:async_hooks';
import kafkajs from 'kafkajs';
import {
  CODECS,
  type Codec,
  type DecompressionLimits,
  decompress,
  type FetchedBytes,
} from '../compression.ts';

const { CompressionCodecs, CompressionTypes } = kafkajs;
export const ZSTD = CompressionTypes.ZSTD;

/** In the context of a fetch. */
const fetched = new AsyncLocalStorage<FetchedBytes>();
/** Called when a fetch begins, in the context in which its batches are decoded. */
export const onFetchStart = (): void => fetched.enterWith({ bytes: 0 });

/** By this name kafkajs knows a batch that a fetch gives in part: it is fetched again. */
class PartialBatch extends Error {
  override readonly name = 'KafkaJSPartialMessageError';
}

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
  const records = await decompress(bytes, codec, limits, fetched.getStore() ?? { bytes: 0 });
  if (records === null) throw new PartialBatch();
  return records;
}
