/** Bytes that are no value of their type. The caller says in an error for users which block and extrinsic they are of. */
export class Undecodable extends Error {
  override readonly name = 'Undecodable';
}

/** A runtime decodes no call that is nested deeper, and a stack of calls holds as many. */
const DEPTH_MAX = 256;
/** How many elements without bytes a block may hold: a length of 2^30 would print as many. */
const EMPTY_ELEMENTS_MAX = 65_536;
const TWO_32 = 2 ** 32;
/** Above it a number is not exact. */
const SAFE_HIGH = 2 ** 21;

/** Reads SCALE primitives one after another. */
export class Cursor {
  readonly bytes: Buffer;
  readonly end: number;
  at: number;
  /** Of all bytes: parts of one text cost a third of texts of their own. */
  readonly #digits: string;
  #depth = 0;
  #emptyElements = { count: 0 };

  constructor(bytes: Buffer, at = 0, end = bytes.length, digits = bytes.toString('hex')) {
    this.bytes = bytes;
    this.at = at;
    this.end = end;
    this.#digits = digits;
  }

  /** The place of the next `size` bytes, which are then behind the cursor. */
  advance(size: number): number {
    const from = this.at;
    if (size > this.end - from) throw new Undecodable(`cut short: ${size} bytes needed at byte ${from}`);
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

  /** Reads a value that may hold others of its own type. */
  deeper<T>(read: (cursor: Cursor) => T): T {
    if (this.#depth >= DEPTH_MAX) throw new Undecodable(`nested deeper than ${DEPTH_MAX}`);
    this.#depth += 1;
    const value = read(this);
    this.#depth -= 1;
    return value;
  }

  /** Takes elements that have no bytes, of which a few bytes may announce any number. */
  takeEmpty(count: number): void {
    this.#emptyElements.count += count;
    if (this.#emptyElements.count > EMPTY_ELEMENTS_MAX) {
      throw new Undecodable(`more than ${EMPTY_ELEMENTS_MAX} elements without bytes`);
    }
  }

  /** The next `size` bytes on their own, under the same bounds. */
  part(size: number): Cursor {
    const from = this.advance(size);
    const part = new Cursor(this.bytes, from, from + size, this.#digits);
    part.#depth = this.#depth;
    part.#emptyElements = this.#emptyElements;
    return part;
  }

  /** What the bytes up to the end are, if nothing is left over. */
  whole<T>(read: (cursor: Cursor) => T): T {
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

/** The bytes of a node's hex. */
export function bytesOf(hex: string): Buffer {
  const bytes = Buffer.from(hex.slice(2), 'hex');
  if (!hex.startsWith('0x') || bytes.length * 2 + 2 !== hex.length) {
    throw new Undecodable(`no hex: ${hex.slice(0, 20)}`);
  }
  return bytes;
}
