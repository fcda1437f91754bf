import { Blake2128Concat, Identity, Twox64Concat, Twox128 } from '@polkadot-api/substrate-bindings';
import { bytesOf, Cursor } from '../decode/cursor.ts';
import type { NodeRuntime } from '../decode/runtime.ts';

// Where a runtime keeps its storage items, and how their keys and values read. Names, types and defaults come from the
// metadata of the block whose state is read: items move between runtime versions.

/** A runtime that lacks an item or a field: nothing can be said of it, which is not 0. */
export class MissingItem extends Error {}

/** The hashers whose keys can be read back, with the bytes of hash before the key itself. */
const HASHERS = {
  Blake2128Concat: { hash: Blake2128Concat, bytes: 16 },
  Twox64Concat: { hash: Twox64Concat, bytes: 8 },
  Identity: { hash: Identity, bytes: 0 },
} as const;

const text = new TextEncoder();
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

/** The key under which a plain item is stored, and with which every key of a map begins. */
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

  /** The whole key, or the beginning that all keys with these first parts share. Parts are SCALE bytes. */
  key(...parts: readonly Uint8Array[]): string {
    const hashed = parts.map((part, i) => {
      const key = this.#keys[i];
      if (!key) throw new MissingItem(`${this.name} has ${this.#keys.length} key parts, not ${parts.length}`);
      return hex(HASHERS[key.hasher].hash(part));
    });
    return this.prefix + hashed.join('');
  }

  /** The parts of a key of this map, as Sidecar writes such values. */
  parts(key: string): unknown[] {
    const cursor = new Cursor(bytesOf(key), this.prefix.length / 2 - 1);
    return cursor.whole(() =>
      this.#keys.map(({ type, hasher }) => {
        cursor.advance(HASHERS[hasher].bytes);
        return JSON.parse(this.#runtime.types.reader(type)(cursor));
      }),
    );
  }

  /**
   * A value as Sidecar writes it; the default of the item, or null, if it is absent. Bytes left over are passed over, as
   * the runtime does: values that an older version wrote may be longer.
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
  throw new MissingItem(`the keys of ${item} cannot be read back: they are hashed with ${tag}`);
}

/** The type of each key part: of several, the key of the map is their tuple. */
function keyTypes(runtime: NodeRuntime, parts: number, key: number): readonly number[] {
  const tuple = runtime.types.entry(key).def;
  return parts > 1 && tuple.tag === 'tuple' ? tuple.value : [key];
}
