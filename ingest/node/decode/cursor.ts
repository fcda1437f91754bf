/** Bytes that do not decode as their type. The caller adds the block and the extrinsic to the message. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
}

/** The nesting limit of runtimes for calls. It also protects the stack. */
const DEPTH_MAX = 256;
/** Most elements of zero bytes in a block. Without this limit, 4 bytes could announce 2^30 of them. */
const EMPTY_ELEMENTS_MAX = 65_536;
const TWO_32 = 2 ** 32;
/** At this value in the high word a double is no longer exact. */
const SAFE_HIGH = 2 ** 21;

/** Reads SCALE primitives one after another. */
export class Cursor {
  readonly bytes: Buffer;
  readonly end: number;
  at: number;
  /** Hex of all bytes: slices of one string take a third of the time of separate strings. */
  readonly #digits: string;
  #depth = 0;
  #emptyElements = { count: 0 };

  constructor(bytes: Buffer, at = 0, end = bytes.length, digits = bytes.toString('hex')) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.#digits = digits;
  }

  /** Moves past the next `size` bytes, and returns their offset. */
  advance(size: number): number {
    const from = this.at;
    if (size > this.end - from) throw new Undecodable(`truncated: ${size} bytes needed at byte ${from}`);
    this.at = from + size;
    return from;
  }

  byte(): number {
    return this.bytes[this.advance(1)] as number;
  }

  u32(): number {
    return this.bytes.readUInt32LE(this.advance(4));
  }

  hex(size: number): string {
    const from = this.advance(size);
    return `"0x${this.#digits.slice(from * 2, (from + size) * 2)}"`;
  }

  /** An unsigned integer as decimal text. */
  unsigned(size: number): string {
    const from = this.advance(size);
    return `"${unsignedText(this.bytes, from, size)}"`;
  }

  signed(size: number): string {
    if (size <= 6) return `"${this.bytes.readIntLE(this.advance(size), size)}"`;
    const value = bigint(this.bytes, this.advance(size), size);
    return `"${BigInt.asIntN(size * 8, value)}"`;
  }

  /** A length or a count. */
  length(): number {
    const first = this.byte();
    const mode = first & 3;
    if (mode === 0) return first >>> 2;
    if (mode === 1) return (first >>> 2) | (this.byte() << 6);
    if (mode === 2) {
      this.at -= 1;
      return this.u32() >>> 2;
    }
    if (first !== 3) throw new Undecodable(`a length of ${(first >>> 2) + 4} bytes at byte ${this.at - 1}`);
    return this.u32();
  }

  /** A number of at most `size` bytes. */
  compact(size: number): string {
    const first = this.byte();
    if ((first & 3) === 3) {
      const used = (first >>> 2) + 4;
      if (used > Math.max(size, 4)) throw new Undecodable(`a number of ${used} bytes at byte ${this.at - 1}`);
      return this.unsigned(used);
    }
    this.at -= 1;
    return `"${this.length()}"`;
  }

  /** Reads a value of a recursive type, and limits its depth. */
  readNested<T>(read: (cursor: Cursor) => T): T {
    if (this.#depth >= DEPTH_MAX) throw new Undecodable(`nested deeper than ${DEPTH_MAX}`);
    this.#depth += 1;
    const value = read(this);
    this.#depth -= 1;
    return value;
  }

  /** Counts elements of zero bytes, because a few bytes can announce any number of them. */
  countEmpty(count: number): void {
    this.#emptyElements.count += count;
    if (this.#emptyElements.count > EMPTY_ELEMENTS_MAX) {
      throw new Undecodable(`more than ${EMPTY_ELEMENTS_MAX} elements without bytes`);
    }
  }

  /** A cursor over the next `size` bytes, with the same limits. */
  part(size: number): Cursor {
    const from = this.advance(size);
    const part = new Cursor(this.bytes, from, from + size, this.#digits);
    part.#depth = this.#depth;
    part.#emptyElements = this.#emptyElements;
    return part;
  }

  /** Reads a value. Throws if bytes are left over. */
  readAll<T>(read: (cursor: Cursor) => T): T {
    const value = read(this);
    if (this.at !== this.end) throw new Undecodable(`${this.end - this.at} bytes left over`);
    return value;
  }
}

function unsignedText(bytes: Buffer, from: number, size: number): string {
  if (size <= 6) return String(bytes.readUIntLE(from, size));
  const high = size < 8 ? bytes.readUIntLE(from + 4, size - 4) : bytes.readUInt32LE(from + 4);
  if (high < SAFE_HIGH && isZero(bytes, from + 8, from + size)) {
    return String(high * TWO_32 + bytes.readUInt32LE(from));
  }
  return String(bigint(bytes, from, size));
}

function isZero(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at += 1) if (bytes[at] !== 0) return false;
  return true;
}

function bigint(bytes: Buffer, from: number, size: number): bigint {
  if (size === 8) return bytes.readBigUInt64LE(from);
  if (size === 16) return (bytes.readBigUInt64LE(from + 8) << 64n) | bytes.readBigUInt64LE(from);
  const bigEndian = Buffer.from(bytes.subarray(from, from + size)).reverse();
  return BigInt(`0x${bigEndian.toString('hex')}`);
}

/** Decodes hex with `0x`. */
export function bytesOf(hex: string): Buffer {
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (!hex.startsWith('0x') || bytes.length * 2 + 2 !== hex.length) {
    throw new Undecodable(`${hex.slice(0, 20)} is not hex`);
  }
  return bytes;
}
