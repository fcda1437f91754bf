/** Encodes a u32 in SCALE, as hex. */
export function u32(value: number): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return `0x${bytes.toString('hex')}`;
}
