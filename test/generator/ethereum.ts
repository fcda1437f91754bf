import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';

type Fields = {
  /** As hex; `0x` for a transaction that creates a contract. */
  readonly to: string;
  readonly data?: string;
  readonly value?: bigint;
  readonly nonce?: bigint;
  readonly gasLimit: bigint;
  readonly gasPrice: bigint;
};

const CHAIN_ID = 420420419n;

/** A signed legacy transaction with integers of any size, which libraries of wallets do not sign. */
export function legacyPayload(
  { to, data = '0x', value = 0n, nonce = 0n, gasLimit, gasPrice }: Fields,
  secret: string,
): string {
  const signed = [nonce, gasPrice, gasLimit].map(bytesOf);
  signed.push(hexToBytes(to.slice(2)), bytesOf(value), hexToBytes(data.slice(2)));
  const hash = keccak_256(list([...signed, bytesOf(CHAIN_ID), bytesOf(0n), bytesOf(0n)]));
  const signature = secp256k1.sign(hash, hexToBytes(secret), { prehash: false, format: 'recovered' });
  const parity = BigInt(signature[0] ?? 0);
  const [r, s] = [signature.slice(1, 33), signature.slice(33)].map((part) =>
    bytesOf(BigInt(`0x${bytesToHex(part)}`)),
  );
  const v = bytesOf(CHAIN_ID * 2n + 35n + parity);
  return `0x${bytesToHex(list([...signed, v, r as Uint8Array, s as Uint8Array]))}`;
}

/** Big-endian without leading zeros. */
function bytesOf(value: bigint): Uint8Array {
  const hex = value === 0n ? '' : value.toString(16);
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`);
}

function list(items: readonly Uint8Array[]): Uint8Array {
  const body = concatBytes(...items.map((item) => concatBytes(head(item), item)));
  return concatBytes(lengthOf(body.length, 0xc0), body);
}

function head(item: Uint8Array): Uint8Array {
  return item.length === 1 && (item[0] ?? 0) < 0x80 ? new Uint8Array() : lengthOf(item.length, 0x80);
}

function lengthOf(length: number, offset: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(offset + length);
  const bytes = bytesOf(BigInt(length));
  return concatBytes(Uint8Array.of(offset + 55 + bytes.length), bytes);
}
