import { blake2b } from '@noble/hashes/blake2.js';

// Accounts without a key of their own, derived by the runtime from other accounts.

/** Id in the hash. The pallets multisig and utility both use the id of the pallet that contained multisigs first. */
const ENTROPY = Buffer.from('modlpy/utilisuba');

/** The account of a multisig, derived from the sorted signatories and the threshold. */
export function multisigAccount(signatories: readonly string[], threshold: number): string {
  const keys = [...new Set(signatories)].sort();
  const entropy = Buffer.concat([ENTROPY, compactLength(keys.length), ...keys.map(bytesOf), u16(threshold)]);
  return hashToAccount(entropy, lengthOf(keys[0]));
}

/** The derivative account number `index` of an account. */
export function derivativeAccount(of: string, index: number): string {
  return hashToAccount(Buffer.concat([ENTROPY, bytesOf(of), u16(index)]), lengthOf(of));
}

function hashToAccount(entropy: Uint8Array, byteLength: number): string {
  const hash = Buffer.from(blake2b(entropy, { dkLen: 32 }));
  return `0x${hash.subarray(0, byteLength).toString('hex')}`;
}

const bytesOf = (key: string) => Buffer.from(key.slice(2), 'hex');

/** Bytes of an account of the chain. A chain with Ethereum accounts uses the first 20 bytes of the hash. */
const lengthOf = (key: string | undefined) => ((key?.length ?? 66) - 2) / 2;

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

/** A compact integer of SCALE. Two bytes suffice, since a multisig has at most a hundred signatories. */
function compactLength(length: number): Buffer {
  return length < 64 ? Buffer.from([length << 2]) : u16((length << 2) | 1);
}
