/** Balances are unsigned 128-bit integers on every chain. */
const LIMIT = 1n << 128n;

/**
 * An amount as it comes in blocks and snapshots: decimal digits, a JSON integer, or 0x-hex (big-endian).
 * Null for anything else: a sign, a fraction, separators, or more than 128 bits.
 */
export function parseAmount(value: unknown): bigint | null {
  const amount = toInteger(value);
  return amount !== null && amount >= 0n && amount < LIMIT ? amount : null;
}

function toInteger(value: unknown): bigint | null {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'number') return Number.isSafeInteger(value) ? BigInt(value) : null;
  if (typeof value !== 'string' || value.length > 200) return null;
  return /^([0-9]+|0x[0-9a-fA-F]+)$/.test(value) ? BigInt(value) : null;
}
