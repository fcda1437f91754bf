import { expandMetadata, Metadata, TypeRegistry } from '@polkadot/types';

// biome-ignore lint/suspicious/noExplicitAny: values of a runtime have no types here.
type Value = any;

/** State of a runtime, encoded by @polkadot/types from plain values. */
export class MadeState {
  readonly values = new Map<string, string>();
  readonly #registry = new TypeRegistry();
  readonly #query: Value;

  constructor(metadata: string) {
    const read = new Metadata(this.#registry, metadata as `0x${string}`);
    this.#registry.setMetadata(read);
    this.#query = expandMetadata(this.#registry, read).query;
  }

  /** Stores a value under the parts of its key; a plain item has none. */
  put(pallet: string, item: string, parts: readonly unknown[], value: unknown): void {
    const entry = this.#query[pallet][item];
    const { type } = entry.meta;
    const of = this.#registry.createLookupType(type.isPlain ? type.asPlain : type.asMap.value);
    const encoded = this.#registry.createTypeUnsafe(of, [value]).toU8a();
    const prefix = hex(entry.keyPrefix());
    const whole = hex(entry(...parts));
    // A creator puts the length of the key before it.
    this.values.set(`0x${whole.slice(whole.indexOf(prefix))}`, `0x${hex(encoded)}`);
  }
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
