import { z } from 'zod';
import { awaitedLater } from '../../../infra/ignore.ts';
import { encodeAddress } from '../../chains/address.ts';
import { bytesOf, Cursor } from '../decode/cursor.ts';
import type { NodeRuntime } from '../decode/runtime.ts';
import type { NodeRpc } from '../rpc.ts';
import { NodeRefusal } from '../rpc-errors.ts';
import { RequestFailure } from '../transport.ts';
import { MissingItem, StorageItem } from './storage.ts';

/** Asks a node by JSON-RPC. */
export type StateRpc = Pick<NodeRpc, 'call'>;

/** More keys in one answer are refused by nodes. */
const PAGE_KEYS = 1000;

const keysAnswer = z.array(z.string());
const valueAnswer = z.string().nullable();
const valuesAnswer = z.tuple([z.object({ changes: z.array(z.tuple([z.string(), z.string().nullable()])) })]);

/** The parts of an entry's key, and its value. */
interface StateEntry {
  readonly parts: readonly unknown[];
  readonly value: unknown;
}

/** The state of a chain after one block, read with the runtime that this block has. */
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

  /** The parts of all keys of a map, or of those that begin with some parts, a page at a time. */
  async *keys(pallet: string, name: string, ...first: readonly Uint8Array[]): AsyncGenerator<unknown[][]> {
    const item = this.#item(pallet, name);
    for await (const keys of this.#pages(item.key(...first))) yield keys.map((key) => item.parts(key));
  }

  /** The number of entries of a map. */
  async count(pallet: string, name: string): Promise<number> {
    let count = 0;
    for await (const keys of this.#pages(this.#item(pallet, name).prefix)) count += keys.length;
    return count;
  }

  /** All entries of a map, a page at a time: its values are asked for while the node looks for the keys of the next. */
  async *entries(pallet: string, name: string): AsyncGenerator<StateEntry[]> {
    const item = this.#item(pallet, name);
    for await (const keys of this.#pages(item.prefix)) {
      const values = await this.#values(keys);
      yield keys.map((key) => {
        const stored = values.get(key);
        if (!stored)
          throw new Error(`the node lists the key ${key} of ${item.name} and gives no value for it`);
        return { parts: item.parts(key), value: item.value(stored) };
      });
    }
  }

  /** What the metadata says of a constant of a pallet. */
  constant(pallet: string, name: string): unknown {
    const found = this.runtime.metadata.pallets
      .find((one) => one.name === pallet)
      ?.constants.find((one) => one.name === name);
    if (!found) throw new MissingItem(`the runtime has no constant ${pallet}.${name}`);
    return JSON.parse(new Cursor(bytesOf(found.value)).whole(this.runtime.types.reader(found.type)));
  }

  /** Whether the runtime keeps an item. */
  has(pallet: string, name: string): boolean {
    const found = this.runtime.metadata.pallets.find((one) => one.name === pallet);
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

  async *#pages(prefix: string): AsyncGenerator<string[]> {
    let next: Promise<string[]> | null = this.#keysAfter(prefix, null);
    while (next) {
      const keys: string[] = await next;
      const last = keys.at(-1);
      // A page that is not full is the last one.
      next = last && keys.length === PAGE_KEYS ? awaitedLater(this.#keysAfter(prefix, last)) : null;
      if (keys.length > 0) yield keys;
    }
  }

  async #keysAfter(prefix: string, last: string | null): Promise<string[]> {
    return keysAnswer.parse(await this.#rpc.call('state_getKeysPaged', [prefix, PAGE_KEYS, last, this.hash]));
  }

  /** The values of some keys; an answer that the node finds too large is asked for in halves. */
  async #values(keys: readonly string[]): Promise<Map<string, string | null>> {
    try {
      const [{ changes }] = valuesAnswer.parse(
        await this.#rpc.call('state_queryStorageAt', [keys, this.hash]),
      );
      return new Map(changes);
    } catch (error) {
      if (keys.length === 1 || !mayBeTooLarge(error)) throw error;
      const half = Math.ceil(keys.length / 2);
      return new Map([
        ...(await this.#values(keys.slice(0, half))),
        ...(await this.#values(keys.slice(half))),
      ]);
    }
  }
}

/** Nodes and proxies word it in many ways. A fault that halves do not mend fails with a single key, after ten attempts. */
const mayBeTooLarge = (error: unknown): boolean =>
  (error instanceof NodeRefusal && !isPruned(error)) ||
  (error instanceof RequestFailure && error.kind === 'large');

/** Whether a node says that it does not have the state of a block. */
export const isPruned = (error: unknown): boolean =>
  error instanceof NodeRefusal &&
  (error.isPruned || /unknown ?block|header was not found/i.test(error.message));
