import { crc32 } from 'node:zlib';
import type { Message } from '../ports.ts';

/**
 * A record of the journal: a mark, the lengths of its key and its value, its offset, a checksum of these two, a checksum of
 * what stands before, the key and the value. A record of the first version had its lengths and one checksum only.
 */
const MARK = Buffer.from('CMR2');
const HEADER_BYTES = 28;
const CHECKED_HEADER_BYTES = 24;
const FIRST_HEADER_BYTES = 12;
/** No key is longer; a longer length of the first version is no length. */
const FIRST_KEY_BYTES_MAX = 4096;

interface StoredRecord {
  readonly offset: number;
  readonly message: Message;
}

/** Bytes of a segment that are no record, and how many offsets they may have held. */
export interface DamagedBytes {
  readonly at: number;
  readonly bytes: number;
  readonly firstOffset: number;
  /** The first offset behind them; of records that cannot be told apart it is above all that they may have had. */
  readonly nextOffset: number;
}

export interface SegmentContent {
  readonly records: readonly StoredRecord[];
  readonly damaged: readonly DamagedBytes[];
  /** Length without the record at the end that was never written whole. */
  readonly length: number;
  readonly nextOffset: number;
}

export function recordBytes({ key, value }: Message, offset: number): [Buffer, Buffer, Buffer] {
  const name = Buffer.from(key);
  const header = Buffer.allocUnsafe(HEADER_BYTES);
  MARK.copy(header);
  header.writeUInt32LE(name.length, 4);
  header.writeUInt32LE(value.length, 8);
  header.writeBigUInt64LE(BigInt(offset), 12);
  header.writeUInt32LE(crc32(value, crc32(name)), 20);
  header.writeUInt32LE(crc32(header.subarray(0, CHECKED_HEADER_BYTES)), CHECKED_HEADER_BYTES);
  return [header, name, value];
}

/** A record that holds nothing: all offsets up to its own are accounted for. */
export const emptyRecord = (offset: number): Buffer =>
  Buffer.concat(recordBytes({ key: '', value: Buffer.alloc(0) }, offset));

type Found =
  | { readonly message: Message; readonly offset: number | null; readonly end: number }
  /** Written in part. */
  | 'torn'
  /** `end` is where it would end, where that is known. */
  | { readonly end: number | null };

function readRecord(bytes: Buffer, at: number): Found {
  const left = bytes.length - at;
  const mark = bytes.subarray(at, at + MARK.length);
  const isMarked = mark.equals(MARK.subarray(0, mark.length));
  if (isMarked && left < HEADER_BYTES) return 'torn';
  if (isMarked) {
    const header = bytes.subarray(at, at + CHECKED_HEADER_BYTES);
    if (crc32(header) !== bytes.readUInt32LE(at + CHECKED_HEADER_BYTES)) return { end: null };
    const [nameBytes, valueBytes] = [header.readUInt32LE(4), header.readUInt32LE(8)];
    const start = at + HEADER_BYTES;
    const end = start + nameBytes + valueBytes;
    if (end > bytes.length) return 'torn';
    const message = checked(bytes, start, start + nameBytes, end, header.readUInt32LE(20));
    return message ? { message, offset: Number(header.readBigUInt64LE(12)), end } : { end };
  }
  if (left < FIRST_HEADER_BYTES) return 'torn';
  const nameBytes = bytes.readUInt32LE(at);
  const start = at + FIRST_HEADER_BYTES;
  const end = start + nameBytes + bytes.readUInt32LE(at + 4);
  if (nameBytes > FIRST_KEY_BYTES_MAX || end === start) return { end: null };
  if (end > bytes.length) return 'torn';
  const message = checked(bytes, start, start + nameBytes, end, bytes.readUInt32LE(at + 8));
  return message ? { message, offset: null, end } : { end };
}

function checked(bytes: Buffer, start: number, middle: number, end: number, sum: number): Message | null {
  const name = bytes.subarray(start, middle);
  const value = bytes.subarray(middle, end);
  return crc32(value, crc32(name)) === sum ? { key: name.toString(), value } : null;
}

/**
 * Whether a record of the first version at the end is there to its last byte, although its lengths, which it had no
 * checksum of, say that it is longer.
 */
const hasWrongLength = (bytes: Buffer, at: number): boolean =>
  bytes.length - at > FIRST_HEADER_BYTES &&
  crc32(bytes.subarray(at + FIRST_HEADER_BYTES)) === bytes.readUInt32LE(at + 8);

const isWhole = (found: Found): found is Extract<Found, { message: Message }> =>
  found !== 'torn' && 'message' in found;

/** Where the next whole record begins. */
function findRecord(bytes: Buffer, from: number): number | null {
  for (let at = from; at + FIRST_HEADER_BYTES <= bytes.length; at++) {
    // Looks at few places closely: a segment is large.
    const mayBegin = bytes[at] === MARK[0] || bytes.readUInt32LE(at) <= FIRST_KEY_BYTES_MAX;
    if (mayBegin && isWhole(readRecord(bytes, at))) return at;
  }
  return null;
}

/** Reads a segment to its end, past what is damaged in it. */
export function readSegment(bytes: Buffer, firstOffset: number): SegmentContent {
  const records: StoredRecord[] = [];
  const damaged: DamagedBytes[] = [];
  let nextOffset = firstOffset;
  let at = 0;
  while (at < bytes.length) {
    const found = readRecord(bytes, at);
    if (isWhole(found)) {
      const offset = found.offset ?? nextOffset;
      nextOffset = offset + 1;
      at = found.end;
      if (found.message.key !== '' || found.message.value.length > 0) {
        records.push({ offset, message: found.message });
      }
      continue;
    }
    const known = found === 'torn' ? null : found.end;
    const isNext = known !== null && (known === bytes.length || isWhole(readRecord(bytes, known)));
    const resumed = isNext ? known : findRecord(bytes, at + 1);
    const isLast = found === 'torn' && resumed === null;
    const isLong = isLast && hasWrongLength(bytes, at);
    // What was written last and only in part was never acknowledged.
    if (isLast && !isLong) break;
    const end = resumed ?? bytes.length;
    const next = end < bytes.length ? readRecord(bytes, end) : null;
    const told = next !== null && isWhole(next) ? next.offset : null;
    // Offsets are never given twice: a consumer knows a message by its offset.
    const after = told ?? nextOffset + (isNext || isLong ? 1 : Math.ceil((end - at) / FIRST_HEADER_BYTES));
    damaged.push({ at, bytes: end - at, firstOffset: nextOffset, nextOffset: after });
    nextOffset = after;
    at = end;
  }
  return { records, damaged, length: at, nextOffset };
}
