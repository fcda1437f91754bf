import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58 } from '@scure/base';
import { prefixBytes } from '../../chains/address.ts';
import type { Cursor } from './cursor.ts';
import { hash512 } from './hash.ts';

const CHECKSUM_CONTEXT = Buffer.from('SS58PRE');
/** Entries of the cache of one runtime. They never become invalid, because a text follows from its bytes. */
const TEXTS_MAX = 20_000;

/** Formats accounts as a chain prints them. Caches the texts, because accounts repeat: 0.1 µs in place of 4 µs. */
export class AccountTexts {
  readonly #prefix: Buffer;
  readonly #texts = new Map<string, string>();

  constructor(prefix: number) {
    this.#prefix = prefixBytes(prefix);
  }

  readonly account32 = (cursor: Cursor): string => this.#text(cursor, 32, this.#ss58);
  readonly account20 = (cursor: Cursor): string => this.#text(cursor, 20, ethereum);

  /** The address of an account index, in its shortest form. */
  index(text: string): string {
    const value = Number(JSON.parse(text));
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(BigInt(JSON.parse(text)));
    return this.#ss58(bytes.subarray(0, value <= 0xef ? 1 : value < 2 ** 16 ? 2 : value < 2 ** 32 ? 4 : 8));
  }

  #text(cursor: Cursor, size: number, write: (bytes: Buffer) => string): string {
    const from = cursor.advance(size);
    const key = cursor.bytes.toString('latin1', from, from + size);
    const cached = this.#texts.get(key);
    if (cached !== undefined) return cached;
    const text = write(cursor.bytes.subarray(from, from + size));
    if (this.#texts.size >= TEXTS_MAX) this.#texts.clear();
    this.#texts.set(key, text);
    return text;
  }

  readonly #ss58 = (bytes: Buffer): string => {
    const body = Buffer.concat([this.#prefix, bytes]);
    const checksum = hash512(Buffer.concat([CHECKSUM_CONTEXT, body]));
    return `"${base58.encode(Buffer.concat([body, checksum.subarray(0, bytes.length === 32 ? 2 : 1)]))}"`;
  };
}

/** Prints an Ethereum address with its EIP-55 checksum, which is encoded as capital letters. */
function ethereum(bytes: Buffer): string {
  const hex = bytes.toString('hex');
  const hash = Buffer.from(keccak_256(Buffer.from(hex))).toString('hex');
  return `"0x${hex.replace(/[a-f]/g, (digit, at: number) => ((hash[at] ?? '0') > '7' ? digit.toUpperCase() : digit))}"`;
}
