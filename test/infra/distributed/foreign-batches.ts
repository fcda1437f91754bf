// Writers of LZ4 and Snappy that find runs of one byte and nothing else.

const RUN_MIN = 16;

/** The parts of some bytes: literals, and then how often their last byte follows. */
function* runsIn(bytes: Buffer): Generator<{ literals: Buffer; repeats: number }> {
  let from = 0;
  for (let at = 0; at < bytes.length; ) {
    let end = at + 1;
    while (end < bytes.length && bytes[end] === bytes[at]) end++;
    if (end - at >= RUN_MIN) {
      yield { literals: bytes.subarray(from, at + 1), repeats: end - at - 1 };
      from = end;
    }
    at = end;
  }
  yield { literals: bytes.subarray(from), repeats: 0 };
}

const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};

const LZ4_BLOCK_BYTES = 4 * 2 ** 20;

/** One frame of independent blocks. */
export function lz4Of(bytes: Buffer): Buffer {
  const parts: Buffer[] = [uint32(0x184d2204), Buffer.from([0x60, 0x70, 0])];
  for (let at = 0; at < bytes.length; at += LZ4_BLOCK_BYTES) {
    const block = lz4Block(bytes.subarray(at, at + LZ4_BLOCK_BYTES));
    parts.push(uint32(block.length), block);
  }
  return Buffer.concat([...parts, uint32(0)]);
}

function lz4Block(bytes: Buffer): Buffer {
  const more = (length: number): number[] => {
    if (length < 15) return [];
    const left = length - 15;
    return [...Array.from({ length: Math.floor(left / 255) }, () => 255), left % 255];
  };
  return Buffer.concat(
    [...runsIn(bytes)].flatMap(({ literals, repeats }) => {
      const token = (Math.min(15, literals.length) << 4) | (repeats > 0 ? Math.min(15, repeats - 4) : 0);
      const match = repeats > 0 ? [1, 0, ...more(repeats - 4)] : [];
      return [Buffer.from([token, ...more(literals.length)]), literals, Buffer.from(match)];
    }),
  );
}

/** One block. */
export function snappyOf(bytes: Buffer): Buffer {
  const length: number[] = [];
  let left = bytes.length;
  for (; left >= 0x80; left = Math.floor(left / 128)) length.push((left % 128) | 0x80);
  const parts: Buffer[] = [Buffer.from([...length, left])];
  for (const { literals, repeats } of runsIn(bytes)) {
    if (literals.length > 0) {
      const size = literals.length - 1;
      parts.push(Buffer.from([62 << 2, size & 255, (size >> 8) & 255, size >> 16]), literals);
    }
    for (let rest = repeats; rest > 0; rest -= 64) {
      parts.push(Buffer.from([((Math.min(64, rest) - 1) << 2) | 2, 1, 0]));
    }
  }
  return Buffer.concat(parts);
}
