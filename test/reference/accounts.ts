import { blake2b } from '@noble/hashes/blake2.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import { base58 } from '@scure/base';
import { isObject, type Json } from './json.ts';
import type { Chain } from './registry.ts';

/** An account as lowercase hex: 0x and 64 digits for a public key, 0x and 40 digits for an H160. */
export type AccountKey = string;

const CHECKSUM_BYTES = 2;
const KEY_BYTES = 32;

/** The key of an account written as SS58 of any prefix or as hex; null when it is neither. */
export function parseAccount(value: Json | undefined): AccountKey | null {
  if (typeof value !== 'string') return null;
  if (/^0x([0-9a-f]{40}|[0-9a-f]{64})$/i.test(value)) return value.toLowerCase();
  return decodeSs58(value);
}

/** A signer comes as an address, or as the one-key object of a multi-address. */
export function parseSigner(value: Json | undefined): AccountKey | null {
  if (!isObject(value)) return parseAccount(value);
  const [kind, address] = Object.entries(value)[0] ?? [];
  const isAccount = ['id', 'address20', 'address32'].includes((kind ?? '').toLowerCase());
  return isAccount ? parseAccount(address) : null;
}

/** The account as its chain prints it: SS58 with the chain's prefix, or the H160 itself. */
export function printAccount(key: AccountKey, chain: Chain): string {
  const isPublicKey = key.length === 2 + 2 * KEY_BYTES;
  if (!isPublicKey || chain.addresses === 'h160') return key;
  const body = concatBytes(Uint8Array.of(chain.addresses), hexToBytes(key.slice(2)));
  return base58.encode(concatBytes(body, checksum(body)));
}

function decodeSs58(text: string): AccountKey | null {
  const bytes = decodeBase58(text);
  // Prefixes from 64 on take two bytes, told by the second highest bit of the first.
  const prefixBytes = bytes !== null && (bytes[0] ?? 0) >= 64 ? 2 : 1;
  if (bytes?.length !== prefixBytes + KEY_BYTES + CHECKSUM_BYTES || (bytes[0] ?? 0) >= 128) return null;
  const body = bytes.slice(0, -CHECKSUM_BYTES);
  const isIntact = bytesToHex(checksum(body)) === bytesToHex(bytes.slice(-CHECKSUM_BYTES));
  return isIntact ? `0x${bytesToHex(body.slice(prefixBytes))}` : null;
}

function decodeBase58(text: string): Uint8Array | null {
  try {
    return base58.decode(text);
  } catch {
    return null;
  }
}

function checksum(body: Uint8Array): Uint8Array {
  return blake2b(concatBytes(utf8ToBytes('SS58PRE'), body), { dkLen: 64 }).slice(0, CHECKSUM_BYTES);
}
