import { Blake2128Concat, Identity, Twox64Concat, Twox128 } from '@polkadot-api/substrate-bindings';
import { bytesOf, Cursor } from '../decode/cursor.ts';
import type { NodeRuntime } from '../decode/runtime.ts';

// Keys and values of storage items. Names, types and defaults come from the metadata of the block whose state is read,
// because items change between runtime versions.

/** The runtime lacks an item or a field. Its value is unknown, not 0. */
export class MissingItem extends Error {}

/** The hashers whose keys can be decoded, with the length of the hash before the key. */
const HASHERS = {
  Blake2128Concat: { hash: Blake2128Concat, bytes: 16 },
  Twox64Concat: { hash: Twox64Concat, bytes: 8 },
  Identity: { hash: Identity, bytes: 0 },
} as const;

const text = new TextEncoder();
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The key of a plain item, which is also the prefix of the keys of a map. */
export const itemPrefix = (pallet: string, item: string): string =>
  `0x${hex(Twox128(text.encode(pallet)))}${hex(Twox128(text.encode(item)))}`;

/** One storage item of a runtime. */
export class StorageItem {
  readonly name: string;
  readonly prefix: string;
  readonly #runtime: NodeRuntime;
  readonly #value: number;
  readonly #keys: readonly { readonly type: number; readonly hasher: keyof typeof HASHERS }[];
  /** SCALE bytes of an absent value; null for an item that is optional. */
  readonly #fallback: Buffer | null;

  /** Throws MissingItem if the runtime has no such item. */
  constructor(runtime: NodeRuntime, pallet: string, name: string) {
    this.name = `${pallet}.${name}`;
    const { storage } = runtime.metadata.pallets.find((found) => found.name === pallet) ?? {};
    const item = storage?.items.find((found) => found.name === name);
    if (!storage || !item) throw new MissingItem(`the runtime has no ${this.name}`);
    this.prefix = itemPrefix(storage.prefix, name);
    this.#runtime = runtime;
    this.#fallback = item.modifier === OPTIONAL ? null : bytesOf(item.fallback);
    const { type } = item;
    this.#value = type.tag === 'plain' ? type.value : type.value.value;
    if (type.tag === 'plain') this.#keys = [];
    else {
      const { hashers, key } = type.value;
      const types = keyTypes(runtime, hashers.length, key);
      this.#keys = hashers.map(({ tag }, i) => ({
        type: types[i] as number,
        hasher: hasherOf(this.name, tag),
      }));
    }
  }

  /** A key, or with fewer parts the common prefix of keys. Parts are SCALE bytes. */
  key(...parts: readonly Uint8Array[]): string {
    const hashed = parts.map((part, i) => {
      const key = this.#keys[i];
      if (!key) throw new MissingItem(`${this.name} has ${this.#keys.length} key parts, not ${parts.length}`);
      return hex(HASHERS[key.hasher].hash(part));
    });
    return this.prefix + hashed.join('');
  }

  /** Decodes the parts of a key, in the format of Sidecar. */
  parts(key: string): unknown[] {
    const cursor = new Cursor(bytesOf(key), this.prefix.length / 2 - 1);
    return cursor.readAll(() =>
      this.#keys.map(({ type, hasher }) => {
        cursor.advance(HASHERS[hasher].bytes);
        return JSON.parse(this.#runtime.types.reader(type)(cursor));
      }),
    );
  }

  /**
   * Decodes a value, in the format of Sidecar. An absent value is the item's default, or null. Ignores bytes that are left
   * over, like the runtime: older versions may have written longer values.
   */
  value(stored: string | null): unknown {
    const bytes = stored === null ? this.#fallback : bytesOf(stored);
    if (bytes === null) return null;
    return JSON.parse(this.#runtime.types.reader(this.#value)(new Cursor(bytes)));
  }
}

const OPTIONAL = 0;

function hasherOf(item: string, tag: string): keyof typeof HASHERS {
  if (tag in HASHERS) return tag as keyof typeof HASHERS;
  throw new MissingItem(`the keys of ${item} cannot be decoded, because they are hashed with ${tag}`);
}

/** The type of each key part. A key of several parts is a tuple. */
function keyTypes(runtime: NodeRuntime, parts: number, key: number): readonly number[] {
  const tuple = runtime.types.entry(key).def;
  return parts > 1 && tuple.tag === 'tuple' ? tuple.value : [key];
}
