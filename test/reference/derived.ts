import { blake2b } from '@noble/hashes/blake2.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes, utf8ToBytes } from '@noble/hashes/utils.js';
import type { AccountKey } from './accounts.ts';

/** Accounts that nobody has a key of: they follow from other accounts. */

const PALLET = utf8ToBytes('modlpy/utilisuba');
const H160_DIGITS = 40;
const PADDING = 'ee'.repeat(12);

/** The account of a group of which so many have to agree. */
export function multisigAccount(members: readonly AccountKey[], threshold: number): AccountKey {
  const sorted = [...new Set(members)].toSorted();
  // The length of a short list is its count shifted past two marking bits.
  return hashed(Uint8Array.of(sorted.length << 2), ...sorted.map(bytesOf), littleEndian(threshold));
}

/** The numbered account beside an account. */
export function derivativeAccount(of: AccountKey, index: number): AccountKey {
  return hashed(bytesOf(of), littleEndian(index));
}

/** The address that an account has towards contracts. */
export function h160Of(account: AccountKey): AccountKey {
  const digits = account.slice(2);
  if (digits.length === H160_DIGITS) return account;
  if (digits.endsWith(PADDING)) return `0x${digits.slice(0, H160_DIGITS)}`;
  return `0x${bytesToHex(keccak_256(bytesOf(account)).slice(-20))}`;
}

/** The account that stands for an address of Ethereum. */
export function paddedAccount(address: AccountKey): AccountKey {
  return `${address}${PADDING}`;
}

function hashed(...parts: readonly Uint8Array[]): AccountKey {
  return `0x${bytesToHex(blake2b(concatBytes(PALLET, ...parts), { dkLen: 32 }))}`;
}

const bytesOf = (key: AccountKey) => hexToBytes(key.slice(2));
const littleEndian = (number: number) => Uint8Array.of(number & 255, number >> 8);
