import { hash256 } from './hash.ts';

// The root of a Patricia-Merkle trie with the values of a list under their indexes. Substrate computes
// `extrinsicsRoot` this way.

interface Entry {
  readonly nibbles: readonly number[];
  readonly value: Uint8Array;
}

const LEAF = 0x40;
const BRANCH = 0x80;
const BRANCH_WITH_VALUE = 0xc0;
const LEAF_WITH_HASH = 0x20;
const BRANCH_WITH_HASH = 0x10;
const EMPTY = Uint8Array.of(0);
const HASH_BYTES = 32;
const NO_VALUE = new Uint8Array();

/** Version 1 of the trie stores values that are longer than a hash as their hash. */
export function orderedTrieRoot(values: readonly Uint8Array[], version: 0 | 1): Uint8Array {
  if (values.length === 0) return hash256(EMPTY);
  const entries = values.map((value, index) => ({ nibbles: nibblesOf(compact(index)), value }));
  entries.sort((a, b) => comparePlaces(a.nibbles, b.nibbles));
  return hash256(nodeOf(entries, 0, version));
}

/** All entries have the same first `depth` nibbles. */
function nodeOf(entries: readonly Entry[], depth: number, version: 0 | 1): Buffer {
  const [first, last] = [entries[0] as Entry, entries.at(-1) as Entry];
  let end = depth;
  while (end < first.nibbles.length && first.nibbles[end] === last.nibbles[end]) end += 1;
  const partial = first.nibbles.slice(depth, end);
  const own = first.nibbles.length === end ? first.value : undefined;
  const isHashed = version === 1 && own !== undefined && own.length > HASH_BYTES;
  const value = own === undefined ? NO_VALUE : isHashed ? hash256(own) : sized(own);
  if (own !== undefined && entries.length === 1) {
    return Buffer.concat([header(isHashed ? LEAF_WITH_HASH : LEAF, partial), value]);
  }
  const kind = own === undefined ? BRANCH : isHashed ? BRANCH_WITH_HASH : BRANCH_WITH_VALUE;
  const below = Map.groupBy(
    own === undefined ? entries : entries.slice(1),
    ({ nibbles }) => nibbles[end] ?? 0,
  );
  const bitmap = Buffer.alloc(2);
  bitmap.writeUInt16LE([...below.keys()].reduce((bits, nibble) => bits | (1 << nibble), 0));
  const children = [...below.values()].map((inside) => {
    const node = nodeOf(inside, end + 1, version);
    return sized(node.length < HASH_BYTES ? node : hash256(node));
  });
  return Buffer.concat([header(kind, partial), bitmap, value, ...children]);
}

/** Indexes have at most ten nibbles, so the number of nibbles always fits into the first byte. */
function header(kind: number, partial: readonly number[]): Buffer {
  const even = partial.length % 2 === 0 ? partial : [0, ...partial];
  const packed = Buffer.alloc(even.length / 2);
  for (let at = 0; at < packed.length; at += 1) {
    packed[at] = ((even[at * 2] ?? 0) << 4) | (even[at * 2 + 1] ?? 0);
  }
  return Buffer.concat([Buffer.of(kind | partial.length), packed]);
}

const sized = (bytes: Uint8Array) => Buffer.concat([compact(bytes.length), bytes]);

const nibblesOf = (bytes: Buffer) => [...bytes].flatMap((byte) => [byte >> 4, byte & 15]);

function comparePlaces(a: readonly number[], b: readonly number[]): number {
  const different = a.findIndex((nibble, at) => nibble !== b[at]);
  return different === -1 ? a.length - b.length : (a[different] ?? 0) - (b[different] ?? -1);
}

/** Encodes a number below 2^32 as SCALE's compact integer. */
export function compact(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  if (value < 2 ** 6) bytes.writeUInt32LE(value << 2);
  else if (value < 2 ** 14) bytes.writeUInt32LE((value << 2) | 1);
  else if (value < 2 ** 30) bytes.writeUInt32LE(value * 4 + 2);
  else return Buffer.concat([Buffer.of(3), Buffer.from(Uint32Array.of(value).buffer)]);
  return bytes.subarray(0, value < 2 ** 6 ? 1 : value < 2 ** 14 ? 2 : 4);
}
