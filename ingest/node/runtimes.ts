import { LRUCache } from 'lru-cache';
import { ProductError } from '../../infra/errors.ts';
import { hex, parseResult } from './answers.ts';
import { blake2Hex } from './decode/hash.ts';
import type { BatchRpc, RpcAnswer, RpcCall } from './rpc.ts';
import { NodeRefusal } from './rpc-errors.ts';
import { u32 } from './scale.ts';

/** Metadata of a runtime, in shared memory for all threads. */
export interface RuntimeMetadata {
  /** Identifies the runtime among those of all networks. */
  readonly key: string;
  readonly specVersion: number;
  readonly bytes: Uint8Array<SharedArrayBuffer>;
}

/** Supported metadata versions. `state_getMetadata` returns version 14. */
const VERSIONS = [16, 15];
/** A range of blocks rarely has more than one upgrade. */
const RUNTIMES_MAX = 4;
const MAGIC = Buffer.from('meta');

/** Caches the metadata of the versions of a chain's runtime. */
export class Runtimes {
  readonly #rpc: BatchRpc;
  readonly #chain: string;
  /** By spec version. */
  readonly #known = new LRUCache<number, Promise<RuntimeMetadata>>({ max: RUNTIMES_MAX });

  /** `chain` separates the runtimes of one network from those of others. */
  constructor(rpc: BatchRpc, chain: string) {
    this.#rpc = rpc;
    this.#chain = chain;
  }

  /** The metadata of a version. The state at `hash` has that version. */
  of(specVersion: number, hash: string): Promise<RuntimeMetadata> {
    const known = this.#known.get(specVersion);
    if (known) return known;
    const request = this.#ask(specVersion, hash);
    this.#known.set(specVersion, request);
    // Errors are not cached: the next request may succeed.
    request.catch(() => this.#known.delete(specVersion));
    return request;
  }

  /** Removes metadata that decodes no block, so that it is requested again. */
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
      throw new ProductError('source_failed', `${this.#rpc.host} returned no metadata for ${hash}`);
    const bytes = new Uint8Array(new SharedArrayBuffer(answered.length - begin));
    bytes.set(answered.subarray(begin));
    // The key includes the hash, because nodes may return different metadata for a version.
    return { key: `${this.#chain}/${specVersion}/${blake2Hex(bytes)}`, specVersion, bytes };
  }

  /** The highest supported metadata version above 14; null if the runtime cannot list versions, as before 2023. */
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
    return Buffer.from(parseResult(hex, answer as RpcAnswer, this.#rpc.host).slice(2), 'hex');
  }
}
