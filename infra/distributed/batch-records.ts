/** Header of a truncated record; its value is the reason. */
export const CUT_HEADER = 'x-cut';

/** Bytes of a truncated record that are kept. */
const KEPT_BYTES = 64 * 1024;
/** Allowance for the parts of a record other than its value. */
const RECORD_OVERHEAD_BYTES = 64 * 1024;
const EMPTY = varint(-1);

interface RecordLimits {
  readonly recordBytes: number;
  /** Limit of all records together. */
  readonly bytes: number;
}

/**
 * Parses the records of a Kafka batch while it is decompressed; a record is a length and a body. A record beyond the limits
 * is truncated and gets the reason in a header. It keeps its offset, so that it can be reported and later ones can be read.
 */
export class BatchRecords {
  readonly #limits: RecordLimits;
  readonly #kept: Buffer[] = [];
  #keptBytes = 0;
  /** The bytes so far of a length that is not complete yet. */
  #lengthBytes: number[] = [];
  #record: { readonly length: number; readonly cut: string | null; seen: number } | null = null;
  #body: Buffer[] = [];
  #bodyBytes = 0;

  constructor(limits: RecordLimits) {
    this.#limits = limits;
  }

  push(piece: Buffer): void {
    for (let at = 0; at < piece.length; ) {
      const record = this.#record;
      if (record === null) {
        this.#readLength(piece[at++] as number);
        continue;
      }
      const end = Math.min(piece.length, at + record.length - record.seen);
      const wanted = (record.cut === null ? record.length : KEPT_BYTES) - this.#bodyBytes;
      if (wanted > 0) {
        const part = piece.subarray(at, Math.min(end, at + wanted));
        this.#body.push(part);
        this.#bodyBytes += part.length;
      }
      record.seen += end - at;
      at = end;
      if (record.seen === record.length) this.#finish(record);
    }
  }

  whole(): Buffer {
    return Buffer.concat(this.#kept, this.#keptBytes);
  }

  #readLength(byte: number): void {
    this.#lengthBytes.push(byte);
    if (byte & 0x80) return;
    const { value: length } = readVarint(Buffer.from(this.#lengthBytes), 0);
    this.#lengthBytes = [];
    this.#record = { length, cut: this.#reasonToCut(length), seen: 0 };
    if (length === 0) this.#finish(this.#record);
  }

  #reasonToCut(length: number): string | null {
    const { recordBytes, bytes } = this.#limits;
    if (length > recordBytes + RECORD_OVERHEAD_BYTES) {
      return `longer than ${recordBytes} bytes when decompressed (KAFKA_MESSAGE_BYTES)`;
    }
    if (this.#keptBytes + length > bytes) {
      return `its batch is longer than ${bytes} bytes when decompressed`;
    }
    return null;
  }

  #finish({ length, cut }: { readonly length: number; readonly cut: string | null }): void {
    const body = cut === null ? this.#body : [cutRecord(Buffer.concat(this.#body), cut)];
    const bytes = cut === null ? length : (body[0] as Buffer).length;
    const head = varint(bytes);
    this.#kept.push(head, ...body);
    this.#keptBytes += head.length + bytes;
    this.#record = null;
    this.#body = [];
    this.#bodyBytes = 0;
  }
}

/** Builds a record from the beginning of another: with the available part of its value, without its key. */
function cutRecord(beginning: Buffer, reason: string): Buffer {
  // Attributes, time, offset, key, value, headers.
  const time = readVarint(beginning, 1);
  const offset = readVarint(beginning, time.end);
  const key = readVarint(beginning, offset.end);
  const value = readVarint(beginning, key.end + Math.max(0, key.value));
  const left = beginning.subarray(value.end, value.end + Math.max(0, value.value));
  const texts = [CUT_HEADER, reason].flatMap((text) => [varint(Buffer.byteLength(text)), Buffer.from(text)]);
  return Buffer.concat([
    beginning.subarray(0, offset.end),
    EMPTY,
    varint(left.length),
    left,
    varint(1),
    ...texts,
  ]);
}

/** A zigzag varint of the Kafka protocol. A 64-bit value may be inexact; only its end is used. */
function readVarint(bytes: Buffer, at: number): { readonly value: number; readonly end: number } {
  let [value, scale, end] = [0, 1, at];
  while ((bytes[end] ?? 0) & 0x80) {
    value += ((bytes[end++] as number) & 0x7f) * scale;
    scale *= 128;
  }
  value += (bytes[end++] ?? 0) * scale;
  return { value: value % 2 === 0 ? value / 2 : -(value + 1) / 2, end };
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  let left = value < 0 ? -value * 2 - 1 : value * 2;
  for (; left >= 0x80; left = Math.floor(left / 128)) bytes.push((left % 128) | 0x80);
  bytes.push(left);
  return Buffer.from(bytes);
}
