import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { bytesToHex, concatBytes, hexToBytes } from '@noble/hashes/utils.js';
import type { AccountKey } from './accounts.ts';

export type EthereumTransaction = {
  readonly sender: AccountKey;
  /** Null for a transaction that creates a contract. */
  readonly receiver: AccountKey | null;
  /** In wei, of which a token has 10^18. */
  readonly value: bigint;
  readonly gasLimit: bigint;
  /** The highest that may be taken, where the transaction leaves it open. */
  readonly gasPrice: bigint;
  readonly input: string;
  /** Of the payload as it is. */
  readonly hash: string;
};

type Item = Uint8Array | readonly Item[];

/** Where a transaction type keeps its receiver and its signature, and how many fields are signed. */
type Layout = { readonly fields: number; readonly receiver: number; readonly signed: number };

const LEGACY: Layout = { fields: 9, receiver: 3, signed: 6 };
const TYPED: Readonly<Record<number, Layout>> = {
  1: { fields: 11, receiver: 4, signed: 8 },
  2: { fields: 12, receiver: 5, signed: 9 },
};

/** Sender and receiver of a signed Ethereum transaction; throws when the bytes are none. */
export function readEthereumTransaction(payload: string): EthereumTransaction {
  const bytes = hexToBytes(payload.replace(/^0x/, ''));
  const type = bytes[0] ?? 0;
  const layout = type >= 0xc0 ? LEGACY : TYPED[type];
  if (!layout) throw new Error(`unknown Ethereum transaction type ${type}`);
  const prefix = layout === LEGACY ? new Uint8Array() : bytes.slice(0, 1);
  const fields = decodeWhole(bytes.slice(prefix.length));
  if (fields.length !== layout.fields) throw new Error('wrong number of fields');

  const v = toInteger(field(fields, layout.fields - 3));
  const signed = fields.slice(0, layout.signed);
  // Since EIP-155 a legacy signature covers the chain id too, which then hides in v.
  const isReplayProtected = layout === LEGACY && v >= 35n;
  const chainId = isReplayProtected ? [fromInteger((v - 35n) / 2n), fromInteger(0n), fromInteger(0n)] : [];
  const hash = keccak_256(concatBytes(prefix, encode([...signed, ...chainId])));
  const parity = layout !== LEGACY ? v : isReplayProtected ? (v - 35n) % 2n : v - 27n;
  const r = toInteger(field(fields, layout.fields - 2));
  const s = toInteger(field(fields, layout.fields - 1));
  const key = new secp256k1.Signature(r, s, Number(parity)).recoverPublicKey(hash).toBytes(false);

  const receiver = field(fields, layout.receiver);
  if (receiver.length !== 0 && receiver.length !== 20) throw new Error('malformed receiver');
  return {
    sender: `0x${bytesToHex(keccak_256(key.slice(1)).slice(-20))}`,
    receiver: receiver.length === 0 ? null : `0x${bytesToHex(receiver)}`,
    // All types have these in the same order around the receiver.
    gasPrice: toInteger(field(fields, layout.receiver - 2)),
    gasLimit: toInteger(field(fields, layout.receiver - 1)),
    value: toInteger(field(fields, layout.receiver + 1)),
    input: `0x${bytesToHex(field(fields, layout.receiver + 2))}`,
    hash: `0x${bytesToHex(keccak_256(bytes))}`,
  };
}

function field(fields: readonly Item[], index: number): Uint8Array {
  const item = fields[index];
  if (!(item instanceof Uint8Array)) throw new Error(`field ${index} is not a byte string`);
  return item;
}

function decodeWhole(bytes: Uint8Array): readonly Item[] {
  const { item, next } = decode(bytes, 0);
  if (item instanceof Uint8Array || next !== bytes.length) throw new Error('not one RLP list');
  return item;
}

/** One RLP item at a position, and the position behind it. */
function decode(bytes: Uint8Array, at: number): { item: Item; next: number } {
  const head = bytes[at];
  if (head === undefined) throw new Error('truncated RLP');
  if (head < 0x80) return { item: bytes.slice(at, at + 1), next: at + 1 };
  const isList = head >= 0xc0;
  const short = head - (isList ? 0xc0 : 0x80);
  const lengthBytes = Math.max(0, short - 55);
  const start = at + 1 + lengthBytes;
  const length = lengthBytes === 0 ? short : Number(toInteger(bytes.slice(at + 1, start)));
  const next = start + length;
  if (next > bytes.length) throw new Error('truncated RLP');
  if (!isList) return { item: bytes.slice(start, next), next };
  const items: Item[] = [];
  for (let position = start; position < next; ) {
    const inner = decode(bytes.slice(0, next), position);
    items.push(inner.item);
    position = inner.next;
  }
  return { item: items, next };
}

function encode(item: Item): Uint8Array {
  if (item instanceof Uint8Array) {
    const isItsOwnEncoding = item.length === 1 && (item[0] ?? 0) < 0x80;
    return isItsOwnEncoding ? item : concatBytes(encodeLength(item.length, 0x80), item);
  }
  const body = concatBytes(...item.map(encode));
  return concatBytes(encodeLength(body.length, 0xc0), body);
}

function encodeLength(length: number, offset: number): Uint8Array {
  if (length <= 55) return Uint8Array.of(offset + length);
  const bytes = fromInteger(BigInt(length));
  return concatBytes(Uint8Array.of(offset + 55 + bytes.length), bytes);
}

function toInteger(bytes: Uint8Array): bigint {
  return bytes.length === 0 ? 0n : BigInt(`0x${bytesToHex(bytes)}`);
}

/** Big-endian without leading zeros, so zero is empty. */
function fromInteger(value: bigint): Uint8Array {
  const hex = value === 0n ? '' : value.toString(16);
  return hexToBytes(hex.length % 2 === 0 ? hex : `0${hex}`);
}
