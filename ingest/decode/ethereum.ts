import { secp256k1 } from '@noble/curves/secp256k1.js';
import { keccak_256 } from '@noble/hashes/sha3.js';
import { RLP } from 'micro-eth-signer/core/rlp.js';

// Reads a signed Ethereum transaction in a block. The sender must be recovered from the signature.

export type EthereumTransaction = {
  /** Recovered from the signature. */
  from: string;
  /** Null for the creation of a contract. */
  to: string | null;
  /** keccak256 of the payload: the transaction hash in Ethereum tools. */
  hash: string;
  /** The transferred value in wei. */
  value: string;
  gas_limit: string;
  /** The gas price, or the maximum fee per gas. */
  gas_price: string;
  input_size: number;
  /** The first four bytes of the input; null if it is shorter. */
  selector: string | null;
};

/** Field positions by kind of transaction; the last three fields are always the signature. */
type Layout = { fields: number; gasPrice: number; gasLimit: number };
const LEGACY: Layout = { fields: 9, gasPrice: 1, gasLimit: 2 };
const TYPED: ReadonlyMap<number, Layout> = new Map([
  [1, { fields: 11, gasPrice: 2, gasLimit: 3 }],
  [2, { fields: 12, gasPrice: 3, gasLimit: 4 }],
]);

type Signature = { r: bigint; s: bigint; parity: 0 | 1; signed: Uint8Array };

/** Throws with the reason if the payload is not a transaction of a known kind. */
export function readEthereumTransaction(payload: unknown): EthereumTransaction {
  const bytes = payloadBytes(payload);
  const parts = split(bytes);
  const { type, fields } = parts;
  const read = readFields(bytes, parts);
  return { from: senderOf(type === null ? legacySignature(fields) : typedSignature(type, fields)), ...read };
}

/** Reads all fields except the sender, whose recovery takes longer than everything else. */
export function readEthereumFields(payload: unknown): Omit<EthereumTransaction, 'from'> {
  const bytes = payloadBytes(payload);
  return readFields(bytes, split(bytes));
}

/** The hash of a transaction of any kind; null if the payload is not hex. */
export function ethereumHash(payload: unknown): string | null {
  return isBytes(payload) ? hex(keccak_256(payloadBytes(payload))) : null;
}

function readFields(bytes: Buffer, { layout, fields }: Parts): Omit<EthereumTransaction, 'from'> {
  const [to, value, input] = [1, 2, 3].map((step) =>
    bytesAt(fields, layout.gasLimit + step),
  ) as Three<Buffer>;
  if (to.length !== 0 && to.length !== 20) throw new Error(`payload: a receiver of ${to.length} bytes`);
  return {
    to: to.length === 0 ? null : hex(to),
    hash: hex(keccak_256(bytes)),
    value: integer(value).toString(),
    gas_limit: integer(bytesAt(fields, layout.gasLimit)).toString(),
    gas_price: integer(bytesAt(fields, layout.gasPrice)).toString(),
    input_size: input.length,
    selector: input.length < 4 ? null : hex(input.subarray(0, 4)),
  };
}

type Three<T> = [T, T, T];

const isBytes = (payload: unknown): payload is string =>
  typeof payload === 'string' && /^0x(?:[0-9a-fA-F]{2})+$/.test(payload);

function payloadBytes(payload: unknown): Buffer {
  if (!isBytes(payload)) throw new Error('payload: not 0x-hex bytes');
  return Buffer.from(payload.slice(2), 'hex');
}

type Parts = { layout: Layout; type: number | null; fields: unknown[] };

/** An RLP list starts with 0xc0 or more; a lower first byte is a transaction type. */
function split(bytes: Buffer): Parts {
  const first = bytes[0] ?? 0;
  const type = first >= 0xc0 ? null : first;
  const layout = type === null ? LEGACY : TYPED.get(type);
  if (layout === undefined) throw new Error(`payload: unknown transaction type ${type}`);
  const fields: unknown = RLP.decode(type === null ? bytes : bytes.subarray(1));
  if (!Array.isArray(fields) || fields.length !== layout.fields) {
    throw new Error(`payload: not a signed transaction of ${layout.fields} fields`);
  }
  return { layout, type, fields };
}

/** With replay protection (EIP-155) `v` contains the chain id, which is then also signed. */
function legacySignature(fields: unknown[]): Signature {
  const { v, r, s } = signatureFields(fields);
  const unsigned = fields.slice(0, -3);
  if (v === 27n || v === 28n) return { r, s, parity: v === 28n ? 1 : 0, signed: encode(unsigned) };
  if (v < 35n) throw new Error(`payload: signature v of ${v}`);
  const chainId = (v - 35n) / 2n;
  return { r, s, parity: (v - 35n) % 2n === 1n ? 1 : 0, signed: encode([...unsigned, chainId, '', '']) };
}

function typedSignature(type: number, fields: unknown[]): Signature {
  const { v, r, s } = signatureFields(fields);
  if (v > 1n) throw new Error(`payload: signature parity of ${v}`);
  const signed = Buffer.concat([Buffer.from([type]), encode(fields.slice(0, -3))]);
  return { r, s, parity: v === 1n ? 1 : 0, signed };
}

function signatureFields(fields: unknown[]): { v: bigint; r: bigint; s: bigint } {
  const [v, r, s] = [3, 2, 1].map((fromEnd) =>
    integer(bytesAt(fields, fields.length - fromEnd)),
  ) as Three<bigint>;
  return { v, r, s };
}

function senderOf({ r, s, parity, signed }: Signature): string {
  const signature = new secp256k1.Signature(r, s).addRecoveryBit(parity);
  const publicKey = signature.recoverPublicKey(keccak_256(signed)).toBytes(false);
  return hex(keccak_256(publicKey.subarray(1)).subarray(-20));
}

const encode = (fields: unknown[]) => RLP.encode(fields as Parameters<typeof RLP.encode>[0]);

function bytesAt(fields: unknown[], index: number): Buffer {
  const field = fields[index];
  if (!(field instanceof Uint8Array)) throw new Error(`payload: field ${index} is a list`);
  return Buffer.from(field);
}

function integer(bytes: Buffer): bigint {
  if (bytes.length > 32) throw new Error(`payload: an integer of ${bytes.length} bytes`);
  return bytes.length === 0 ? 0n : BigInt(hex(bytes));
}

const hex = (bytes: Uint8Array) => `0x${Buffer.from(bytes).toString('hex')}`;
