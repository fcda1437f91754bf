/**
 * Parses an amount of a block or snapshot: decimal digits, a JSON integer, or big-endian 0x-hex. Null for anything else,
 * such as a sign, a fraction, separators, or more than 128 bits, which no balance has.
 */
export const parseAmount = (value: unknown): bigint | null => parseUnsigned(value, 128n);

/** Like `parseAmount`, for Ethereum amounts of up to 256 bits. */
export const parseWideAmount = (value: unknown): bigint | null => parseUnsigned(value, 256n);

function parseUnsigned(value: unknown, bits: bigint): bigint | null {
  const amount = toInteger(value);
  return amount !== null && amount >= 0n && amount < 1n << bits ? amount : null;
}

function toInteger(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null;
  if (typeof value !== 'string' || value.length > 200) return null;
  return /^([0-9]+|0x[0-9a-fA-F]+)$/.test(value) ? BigInt(value) : null;
}
