import type { InfraSettings } from '../../config/settings.ts';
import { CUT_HEADER } from '../batch-records.ts';
import { CODECS, decompress, type FetchedBytes } from '../compression.ts';
import type { FetchedRecord } from '../kafka-client.ts';

/** Of a batch before its records. */
const HEADER_BYTES = 61;
/** Of a batch before the bytes that its length counts. */
const LENGTH_END = 12;
const MAGIC = 2;
const COMPRESSION = 7;
const TRANSACTIONAL = 16;
const CONTROL = 32;

/** What a producer wrote from an offset on, up to the marker of its end, is not to be read. */
export interface AbortedTransaction {
  readonly producer: bigint;
  readonly from: number;
}

export interface DecodedRecords {
  readonly records: readonly FetchedRecord[];
  /** The offset behind everything that was decoded. */
  readonly next: number;
}

/**
 * Decodes the batches of a partition from an offset on, one after the other; `open` decompresses one, or returns null
 * where it has no room in this fetch. A batch that is cut off at the end is left for the next fetch.
 */
export async function decodeBatches(
  bytes: Buffer,
  from: number,
  open: (bytes: Buffer, compression: number) => Promise<Buffer | null>,
  aborted: readonly AbortedTransaction[] = [],
): Promise<DecodedRecords> {
  const records: FetchedRecord[] = [];
  const ended = new Map<bigint, number>();
  let next = from;
  for (let at = 0; at + HEADER_BYTES <= bytes.length; ) {
    const end = at + LENGTH_END + bytes.readInt32BE(at + 8);
    if (end > bytes.length) break;
    const magic = bytes.readInt8(at + 16);
    if (magic !== MAGIC) throw new Error(`a batch of format ${magic}, which brokers before 0.11 wrote`);
    const base = Number(bytes.readBigInt64BE(at));
    const attributes = bytes.readInt16BE(at + 21);
    const last = base + bytes.readInt32BE(at + 23);
    const producer = bytes.readBigInt64BE(at + 43);
    if ((attributes & CONTROL) !== 0) ended.set(producer, base);
    const isAborted =
      (attributes & TRANSACTIONAL) !== 0 &&
      aborted.some(
        (one) => one.producer === producer && one.from <= base && one.from > (ended.get(producer) ?? -1),
      );
    if (last >= next) {
      if ((attributes & CONTROL) === 0 && !isAborted) {
        const body = await open(bytes.subarray(at + HEADER_BYTES, end), attributes & COMPRESSION);
        if (body === null) break;
        for (const record of recordsOf(body, base)) if (record.offset >= next) records.push(record);
      }
      next = last + 1;
    }
    at = end;
  }
  return { records, next };
}

/** Decompresses the batches of one fetch within the limits of the settings. */
export function decompressWithin(
  config: InfraSettings,
): (bytes: Buffer, compression: number) => Promise<Buffer | null> {
  const limits = { messageBytes: config.KAFKA_MESSAGE_BYTES, fetchBytes: config.KAFKA_DECOMPRESSED_BYTES };
  const fetched: FetchedBytes = { bytes: 0 };
  return async (bytes, compression) => {
    if (compression === 0) return bytes;
    const codec = CODECS.get(compression);
    if (!codec) throw new Error(`a batch in compression ${compression}, which is not known`);
    return decompress(bytes, codec, limits, fetched);
  };
}

/** Records, each its length and its body: attributes, time, offset, key, value, headers. */
function* recordsOf(bytes: Buffer, base: number): Generator<FetchedRecord> {
  const reader = new VarintReader(bytes);
  while (reader.at < bytes.length) {
    const length = reader.integer();
    const end = reader.at + length;
    reader.at++;
    reader.integer();
    const offset = base + reader.integer();
    const key = reader.bytes();
    const value = reader.bytes();
    let cut: string | undefined;
    let traceparent: string | undefined;
    for (let headers = reader.integer(); headers > 0; headers--) {
      const [name, text] = [reader.bytes(), reader.bytes()];
      const header = name?.toString();
      if (header === CUT_HEADER) cut = text?.toString() ?? '';
      else if (header === 'traceparent') traceparent = text?.toString();
    }
    reader.at = end;
    yield {
      key,
      value,
      offset,
      ...(cut === undefined ? {} : { cut }),
      ...(traceparent === undefined ? {} : { traceparent }),
    };
  }
}

/** Integers of seven bits a byte, the sign in the lowest bit. */
class VarintReader {
  at = 0;
  readonly #bytes: Buffer;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  integer(): number {
    let [value, scale] = [0, 1];
    for (;;) {
      const byte = this.#bytes[this.at++];
      if (byte === undefined) throw new Error('a batch of Kafka ends within a record');
      value += (byte & 0x7f) * scale;
      if ((byte & 0x80) === 0) break;
      scale *= 128;
    }
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
  }

  bytes(): Buffer | null {
    const length = this.integer();
    if (length < 0) return null;
    const from = this.at;
    this.at += length;
    return this.#bytes.subarray(from, this.at);
  }
}
