import { LRUCache } from 'lru-cache';
import { ProductError } from '../../infra/errors.ts';
import { hex, read } from './answers.ts';
import { hashText } from './decode/hash.ts';
import type { BatchRpc, RpcAnswer, RpcCall } from './rpc.ts';
import { NodeRefusal } from './rpc-errors.ts';
import { u32 } from './scale.ts';

/** Metadata of a runtime: shared memory, so that every thread reads the same bytes. */
export interface RuntimeMetadata {
  /** Names the runtime among those of all networks. */
  readonly key: string;
  readonly specVersion: number;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/** Versions of metadata that are stable and can be read; `state_getMetadata` gives the one before. */
const VERSIONS = [16, 15];
/** A range of blocks rarely holds more than one upgrade. */
const KEPT = 4;
const MAGIC = Buffer.from('meta');

/** The metadata of each version of a chain's runtime, asked for once while it is needed. */
export class Runtimes {
  readonly #rpc: BatchRpc;
  readonly #chain: string;
  /** By spec version. */
  readonly #known = new LRUCache<number, Promise<RuntimeMetadata>>({ max: KEPT });

  /** `chain` tells the runtimes of one network from those of others. */
  constructor(rpc: BatchRpc, chain: string) {
    this.#rpc = rpc;
    this.#chain = chain;
  }

  /** The runtime of that version, which the state at `hash` holds. */
  of(specVersion: number, hash: string): Promise<RuntimeMetadata> {
    const known = this.#known.get(specVersion);
    if (known) return known;
    const asked = this.#ask(specVersion, hash);
    this.#known.set(specVersion, asked);
    // A failure is not kept: the next block may be asked of another time.
    asked.catch(() => this.#known.delete(specVersion));
    return asked;
  }

  /** Asks again, since nothing decodes with the metadata that were answered. */
  forget(specVersion: number): void {
    this.#known.delete(specVersion);
  }

  async #ask(specVersion: number, hash: string): Promise<RuntimeMetadata> {
    const version = await this.#highestVersion(hash);
    const answered = await this.#bytes(
      version === null
        ? { method: 'state_getMetadata', params: [hash] }
        : { method: 'state_call', params: ['Metadata_metadata_at_version', u32(version), hash] },
    );
    // Metadata by version are an `Option<Vec<u8>>`: one byte, and a length of at most five.
    const begin = answered.subarray(0, 16).indexOf(MAGIC);
    if (begin < 0)
      throw new ProductError('source_failed', `${this.#rpc.host} answered no metadata of ${hash}`);
    const bytes = new Uint8Array(new SharedArrayBuffer(answered.length - begin));
    bytes.set(answered.subarray(begin));
    // Of the bytes too: one node may answer other metadata for a version than another.
    return { key: `${this.#chain}/${specVersion}/${hashText(bytes)}`, specVersion, bytes };
  }

  /** The highest version above 14 that the runtime offers; null if it has no such function, as before 2023. */
  async #highestVersion(hash: string): Promise<number | null> {
    try {
      const list = await this.#bytes({
        method: 'state_call',
        params: ['Metadata_metadata_versions', '0x', hash],
      });
      // A `Vec<u32>` of fewer than 64 elements has a length of one byte.
      const count = Math.min((list[0] ?? 0) >> 2, (list.length - 1) >> 2);
      const offered = Array.from({ length: count }, (_, i) => list.readUInt32LE(1 + i * 4));
      return VERSIONS.find((version) => offered.includes(version)) ?? null;
    } catch (error) {
      if (error instanceof NodeRefusal) return null;
      throw error;
    }
  }

  async #bytes(call: RpcCall): Promise<Buffer> {
    const [answer] = await this.#rpc.batch([call]);
    return Buffer.from(read(hex, answer as RpcAnswer, this.#rpc.host).slice(2), 'hex');
  }
}
