import { compressors } from 'hyparquet-compressors';

// LZ4 and Snappy, in which other producers may write: they are read block by block, and never written.

const FRAME_MAGIC = 0x184d2204;
/** How far back a match may reach. */
const WINDOW_BYTES = 64 * 1024;
const UNCOMPRESSED = 0x80000000;

/** The blocks of LZ4 frames, decompressed. Their checksums are not read: those of the batch cover them. */
export function* lz4Blocks(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; ) {
    if (bytes.readUInt32LE(at) !== FRAME_MAGIC) throw corrupt('LZ4', 'no frame');
    const flags = bytes.readUInt8(at + 4);
    const blockBytesMax = 2 ** (8 + 2 * ((bytes.readUInt8(at + 5) >> 4) & 7));
    if (blockBytesMax > 2 ** 22) throw corrupt('LZ4', 'a block size');
    // The size of the content, and the identity of a dictionary; then a checksum of one byte.
    at += 6 + (flags & 8 ? 8 : 0) + (flags & 1 ? 4 : 0) + 1;
    let before: Buffer = Buffer.alloc(0);
    for (let size = bytes.readUInt32LE(at); size !== 0; size = bytes.readUInt32LE(at)) {
      const length = size & (UNCOMPRESSED - 1);
      const block = bytes.subarray(at + 4, at + 4 + length);
      if (block.length < length) throw corrupt('LZ4', 'a block that is cut');
      const piece = size >= UNCOMPRESSED ? block : lz4Block(block, before, blockBytesMax);
      yield piece;
      before = Buffer.concat([before, piece]).subarray(-WINDOW_BYTES);
      at += 4 + length + (flags & 16 ? 4 : 0);
    }
    at += 4 + (flags & 4 ? 4 : 0);
  }
}

function lz4Block(block: Buffer, before: Buffer, bytesMax: number): Buffer {
  const out = Buffer.allocUnsafe(before.length + bytesMax);
  let to = before.copy(out);
  let at = 0;
  const next = () => {
    const byte = block[at++];
    if (byte === undefined) throw corrupt('LZ4', 'a block that ends early');
    return byte;
  };
  const lengthFrom = (short: number) => {
    let length = short;
    if (short === 15) {
      let byte = next();
      for (; byte === 255; byte = next()) length += byte;
      length += byte;
    }
    return length;
  };
  while (at < block.length) {
    const token = next();
    const literals = lengthFrom(token >> 4);
    if (at + literals > block.length || to + literals > out.length) throw corrupt('LZ4', 'a length');
    to += block.copy(out, to, at, at + literals);
    at += literals;
    if (at === block.length) break;
    const distance = next() | (next() << 8);
    const length = lengthFrom(token & 15) + 4;
    if (distance === 0 || distance > to || to + length > out.length) throw corrupt('LZ4', 'a match');
    to = copyMatch(out, to, distance, length);
  }
  return out.subarray(before.length, to);
}

/** A match may overlap what it writes: then it repeats. */
function copyMatch(out: Buffer, to: number, distance: number, length: number): number {
  const end = to + length;
  for (let at = to, from = to - distance; at < end; ) {
    const some = Math.min(end - at, at - from);
    out.copyWithin(at, from, from + some);
    at += some;
  }
  return end;
}

/** Before blocks that each have their length in front; without it all is one block. */
const XERIAL_MAGIC = Buffer.from('\x82SNAPPY\0', 'latin1');
const XERIAL_HEADER_BYTES = 16;
/** Three bytes of Snappy stand for 64 at most. */
const SNAPPY_RATIO_MAX = 22;

export function* snappyBlocks(bytes: Buffer): Generator<Buffer> {
  if (!bytes.subarray(0, XERIAL_MAGIC.length).equals(XERIAL_MAGIC)) {
    yield snappyBlock(bytes);
    return;
  }
  for (let at = XERIAL_HEADER_BYTES; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at);
    const block = bytes.subarray(at + 4, at + 4 + length);
    if (block.length < length) throw corrupt('Snappy', 'a block that is cut');
    yield snappyBlock(block);
    at += 4 + length;
  }
}

function snappyBlock(block: Buffer): Buffer {
  let [length, scale, at] = [0, 1, 0];
  for (let byte = 0x80; byte & 0x80; scale *= 128) {
    byte = block[at++] ?? 0;
    length += (byte & 0x7f) * scale;
  }
  if (length > block.length * SNAPPY_RATIO_MAX) throw corrupt('Snappy', 'a length');
  if (length === 0) return Buffer.alloc(0);
  const read = compressors.SNAPPY?.(block, length) as Uint8Array;
  return Buffer.from(read.buffer, read.byteOffset, read.byteLength);
}

const corrupt = (format: string, what: string) => new Error(`the ${format} data have ${what} that is wrong`);
