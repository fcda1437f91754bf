import { z } from 'zod';
import { encodeAddress } from '../../chains/address.ts';
import { bytesOf, Cursor } from '../decode/cursor.ts';
import type { NodeRuntime } from '../decode/runtime.ts';
import { mapPages, type StateRpc } from '../map-pages.ts';
import { MissingItem, StorageItem } from './storage.ts';

const valueAnswer = z.string().nullable();

/** The parts of an entry's key, and its value. */
interface StateEntry {
  readonly parts: readonly unknown[];
  readonly value: unknown;
}

/** The state of a chain after one block, decoded with the runtime of that block. */
export class BlockState {
  readonly hash: string;
  readonly runtime: NodeRuntime;
  readonly #rpc: StateRpc;
  readonly #items = new Map<string, StorageItem>();

  constructor(rpc: StateRpc, hash: string, runtime: NodeRuntime) {
    this.#rpc = rpc;
    this.hash = hash;
    this.runtime = runtime;
  }

  /** The value of an item, or of one entry of a map. Throws MissingItem if the runtime lacks the item. */
  async value(pallet: string, name: string, ...parts: readonly Uint8Array[]): Promise<unknown> {
    const item = this.#item(pallet, name);
    const stored = await this.#rpc.call('state_getStorage', [item.key(...parts), this.hash]);
    return item.value(valueAnswer.parse(stored));
  }

  /** The parts of the keys of a map, a page at a time. `first` selects the keys that begin with these parts. */
  async *keys(pallet: string, name: string, ...first: readonly Uint8Array[]): AsyncGenerator<unknown[][]> {
    const item = this.#item(pallet, name);
    for await (const page of this.#pages(item.key(...first), 'keys'))
      yield page.map(([key]) => item.parts(key));
  }

  /** The number of entries of a map. */
  async count(pallet: string, name: string): Promise<number> {
    let count = 0;
    for await (const page of this.#pages(this.#item(pallet, name).prefix, 'keys')) count += page.length;
    return count;
  }

  /** All entries of a map, a page at a time. */
  async *entries(pallet: string, name: string): AsyncGenerator<StateEntry[]> {
    const item = this.#item(pallet, name);
    for await (const page of this.#pages(item.prefix, 'values')) {
      yield page.map(([key, stored]) => {
        if (!stored) throw new Error(`the node lists the key ${key} of ${item.name} but has no value for it`);
        return { parts: item.parts(key), value: item.value(stored) };
      });
    }
  }

  /** The value of a constant in the metadata. */
  constant(pallet: string, name: string): unknown {
    const found = this.runtime.metadata.pallets
      .find((entry) => entry.name === pallet)
      ?.constants.find((entry) => entry.name === name);
    if (!found) throw new MissingItem(`the runtime has no constant ${pallet}.${name}`);
    return JSON.parse(new Cursor(bytesOf(found.value)).readAll(this.runtime.types.reader(found.type)));
  }

  /** Whether the runtime has a storage item. */
  has(pallet: string, name: string): boolean {
    const found = this.runtime.metadata.pallets.find((entry) => entry.name === pallet);
    return found?.storage?.items.some((item) => item.name === name) ?? false;
  }

  /** An account as this chain prints it. */
  address(key: Uint8Array): string {
    return encodeAddress(`0x${Buffer.from(key).toString('hex')}`, this.runtime.ss58Prefix);
  }

  #item(pallet: string, name: string): StorageItem {
    const id = `${pallet}.${name}`;
    const item = this.#items.get(id) ?? new StorageItem(this.runtime, pallet, name);
    this.#items.set(id, item);
    return item;
  }

  #pages(prefix: string, of: 'keys' | 'values') {
    return mapPages({ rpc: this.#rpc, hash: this.hash }, prefix, of);
  }
}
