import { keccak_256 } from '@noble/hashes/sha3.js';

// Contracts identify every account by an Ethereum address of 20 bytes. These functions convert keys in hex both ways.

/** Twelve bytes that mark the account of an Ethereum address. */
const PADDING = 'ee'.repeat(12);
const H160_CHARS = 42;

/**
 * Memoizes `h160Of` for one process, at most 50,000 keys; a result never becomes invalid. Few callers occur often in a fold
 * over a month of contract calls, and each hash takes 28 µs.
 */
const known = new Map<string, string>();
const KNOWN_MAX = 50_000;

/** The Ethereum address of an account key. */
export function h160Of(key: string): string {
  if (key.length === H160_CHARS) return key;
  if (key.endsWith(PADDING)) return key.slice(0, H160_CHARS);
  const remembered = known.get(key);
  if (remembered !== undefined) return remembered;
  const hash = keccak_256(Buffer.from(key.slice(2), 'hex'));
  const address = `0x${Buffer.from(hash.subarray(-20)).toString('hex')}`;
  if (known.size >= KNOWN_MAX) known.clear();
  known.set(key, address);
  return address;
}

/** The key of the account of an Ethereum address to which no other account is mapped. */
export const accountOfH160 = (address: string): string => `${address}${PADDING}`;
