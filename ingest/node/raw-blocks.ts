import type { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import {
  blockAnswer,
  blockHash,
  heightOf,
  hex,
  read,
  readHeader,
  runtimeVersion,
  storageAnswer,
} from './answers.ts';
import type { RawBlock } from './decode/block.ts';
import type { BatchRpc, RpcAnswer, RpcCall } from './rpc.ts';
import { NodeRefusal } from './rpc-errors.ts';
import { u32 } from './scale.ts';

/** Keys of `System.Events` and `Session.Validators`. */
const EVENTS = '0x26aa394eea5630e07c48ae0c9558cef780d41e5e16056765bc8461851072c9d7';
const VALIDATORS = '0xcec5070d609dd3497f72bde07fc96ba088dcde934c658227ee1dfafcd6e16903';

/** A block that a node has. */
export interface BlockPlace {
  readonly number: number;
  readonly hash: string;
  /** Hash of the block below it; block 0 has none. */
  readonly parentHash: string | undefined;
  /** Whether it is the lowest that was asked for, so that it follows no block that was read. */
  readonly isFirst: boolean;
}

/** A block as the node stores it, and what its lines are made with. */
export interface FetchedBlock extends BlockPlace {
  readonly raw: RawBlock;
  /** Of the runtime that made the block, which its parent's state holds. */
  readonly specVersion: number;
}

/** A value for each place, or why there is none. */
export type Each<T> = readonly (T | ProductError)[];

interface FinalBlock {
  readonly number: number;
  readonly hash: string;
}

/** Asks a node for blocks, many in one request. */
export class RawBlocks {
  readonly #rpc: BatchRpc;
  readonly #genesis: string;
  /** The highest final block so far. Behind one address may be several nodes, some of which lag. */
  #final: FinalBlock | null = null;
  /** Of the heights that were asked for. */
  #lowest = Number.POSITIVE_INFINITY;
  /** Whether `chain_getBlockHash` takes a list of heights, as that of Substrate nodes does. */
  #takesLists = true;

  constructor(rpc: BatchRpc, genesis: string) {
    this.#rpc = rpc;
    this.#genesis = genesis;
  }

  noteFinal(head: FinalBlock): void {
    if (this.#final === null || head.number > this.#final.number) this.#final = head;
  }

  /** Where the blocks of heights are, the newest final block by the same node, and a height up to which all are final. */
  async places(
    numbers: readonly number[],
    patience: number,
  ): Promise<{ places: Each<BlockPlace>; finalizedHash: string; finalTo: number }> {
    this.#lowest = Math.min(this.#lowest, ...numbers);
    const final = this.#final ?? { number: 0, hash: this.#genesis };
    const wanted = [...new Set([0, final.number, ...numbers.flatMap((n) => [Math.max(0, n - 1), n])])];
    const [head, ...list] = await this.#hashes(wanted, patience);
    const finalizedHash = this.#take(blockHash, head);
    const taken = this.#each(blockHash.nullable(), list);
    const hashes = new Map(taken.map((hash, i) => [wanted[i], hash]));
    // Another network may have begun behind the same address.
    if (hashes.get(0) !== this.#genesis)
      throw this.#failure(`serves another network by now, which begins with the block ${hashes.get(0)}`);
    const places = numbers.map((number) => {
      const hash = hashes.get(number);
      if (hash instanceof Error) return hash;
      if (!hash) return this.#failure(`has no block ${number}`);
      const isFirst = number <= this.#lowest;
      if (number === 0) return { number, hash, parentHash: undefined, isFirst };
      const parentHash = hashes.get(number - 1);
      if (parentHash instanceof Error) return parentHash;
      // Its state holds the runtime that decodes the block.
      return parentHash ? { number, hash, parentHash, isFirst } : this.#failure(`has no block ${number - 1}`);
    });
    // Whatever its own head, the blocks below a final one are final.
    return { places, finalizedHash, finalTo: hashes.get(final.number) === final.hash ? final.number : -1 };
  }

  /** Hashes of the finalized head and of heights. */
  async #hashes(heights: readonly number[], patience: number): Promise<readonly RpcAnswer[]> {
    const head = { method: 'chain_getFinalizedHead', params: [] };
    const hashOf = (given: unknown) => ({ method: 'chain_getBlockHash', params: [given] });
    if (this.#takesLists) {
      const asked = await this.#rpc.batch([head, hashOf(heights)], { patience });
      const [first, list] = asked as [RpcAnswer, RpcAnswer];
      if ('error' in list && !(list.error instanceof NodeRefusal)) throw list.error;
      if ('result' in list && Array.isArray(list.result) && list.result.length === heights.length)
        return [first, ...list.result.map((result: unknown) => ({ result }))];
      this.#takesLists = false;
    }
    return this.#rpc.batch([head, ...heights.map(hashOf)], { patience });
  }

  async place(hash: string, patience: number): Promise<BlockPlace> {
    const [answer] = await this.#rpc.batch([{ method: 'chain_getHeader', params: [hash] }], { patience });
    const header = readHeader(hash, answer as RpcAnswer, this.#rpc.host);
    if (header === null) throw this.#failure(`has no block ${hash}`);
    const number = heightOf(header);
    return { number, hash, parentHash: number === 0 ? undefined : header.parentHash, isFirst: true };
  }

  /** The blocks at places, which are in order; final up to the height of `finalizedHash`, and up to `finalTo`. */
  async fetch(
    places: readonly BlockPlace[],
    { finalizedHash, finalTo }: { readonly finalizedHash: string | null; readonly finalTo: number },
    patience: number,
  ): Promise<Each<FetchedBlock>> {
    const ends = places.filter((_, i) => i === 0 || i === places.length - 1);
    const calls = [
      ...places.flatMap(({ hash }) => [{ method: 'chain_getBlock', params: [hash] }, storage(EVENTS, hash)]),
      ...ends.map(versionCall),
      ...ends.map(validatorsCall),
      ...(finalizedHash === null ? [] : [{ method: 'chain_getHeader', params: [finalizedHash] }]),
    ];
    const answers = await this.#rpc.batch(calls, { patience });
    const ofBlocks = answers.splice(0, places.length * 2);
    const ofVersions = answers.splice(0, ends.length);
    const ofValidators = answers.splice(0, ends.length);
    const versions = await this.#spread(places, ofVersions, versionCall, patience);
    const validators = await this.#spread(places, ofValidators, validatorsCall, patience);
    const head =
      finalizedHash === null ? null : readHeader(finalizedHash, answers[0] as RpcAnswer, this.#rpc.host);
    const finalized = Math.max(finalTo, head === null ? -1 : heightOf(head));
    return places.map((place, i) => {
      try {
        const block = this.#take(blockAnswer, ofBlocks[i * 2]);
        const events = this.#take(storageAnswer, ofBlocks[i * 2 + 1]);
        if (block === null) throw this.#failure(`has no block ${place.number}`);
        const { header, extrinsics } = block.block;
        if (heightOf(header) !== place.number)
          throw this.#failure(`answered block ${heightOf(header)} in place of ${place.number}`);
        const { specVersion } = this.#take(runtimeVersion, versions[i]);
        const raw = {
          ...{ hash: place.hash, header, extrinsics, events },
          validators: this.#take(storageAnswer, validators[i]),
          finalized: place.number <= finalized,
        };
        return { ...place, raw, specVersion };
      } catch (error) {
        return asFailure(error);
      }
    });
  }

  /** The validators at each of the places. */
  async validators(places: readonly BlockPlace[], patience: number): Promise<Each<string | null>> {
    const answers = await this.#rpc.batch(places.map(validatorsCall), { patience });
    return this.#each(storageAnswer, answers);
  }

  /**
   * The fee that the runtime would ask for each of these extrinsics, without the tip; none if the node does not keep the
   * state that the block began with.
   */
  async fees(
    { number, parentHash, raw }: FetchedBlock,
    extrinsics: readonly number[],
  ): Promise<Map<number, string>> {
    const calls = extrinsics.map((place) => {
      const bytes = raw.extrinsics[place] as string;
      const asked = `${bytes}${u32(bytes.length / 2 - 1).slice(2)}`;
      return { method: 'state_call', params: ['TransactionPaymentApi_query_info', asked, parentHash] };
    });
    const answers = await this.#rpc.batch(calls);
    const fees = new Map<number, string>();
    for (const [i, answer] of answers.entries()) {
      if ('error' in answer && answer.error instanceof NodeRefusal) continue;
      const bytes = Buffer.from(this.#take(hex, answer).slice(2), 'hex');
      // A u128 behind weight and class.
      if (bytes.length < 16) throw this.#failure(`answered no fee of block ${number}`);
      const fee = bytes.readBigUInt64LE(bytes.length - 16) + (bytes.readBigUInt64LE(bytes.length - 8) << 64n);
      fees.set(extrinsics[i] as number, String(fee));
    }
    return fees;
  }

  /** Answers that seldom change: those of the first and the last place, or of all places if these two differ. */
  async #spread(
    places: readonly BlockPlace[],
    ends: readonly RpcAnswer[],
    callOf: (place: BlockPlace) => RpcCall,
    patience: number,
  ): Promise<readonly RpcAnswer[]> {
    if (ends.length === places.length) return ends;
    const [first, last] = ends.map((answer) => ('error' in answer ? null : JSON.stringify(answer.result)));
    if (first === last && first !== null) return places.map(() => ends[0] as RpcAnswer);
    return this.#rpc.batch(places.map(callOf), { patience });
  }

  #each<T>(schema: z.ZodType<T>, answers: readonly RpcAnswer[]): Each<T> {
    return answers.map((answer) => {
      try {
        return this.#take(schema, answer);
      } catch (error) {
        return asFailure(error);
      }
    });
  }

  #take<T>(schema: z.ZodType<T>, answer: RpcAnswer | undefined): T {
    return read(schema, answer as RpcAnswer, this.#rpc.host);
  }

  #failure(text: string): ProductError {
    return new ProductError('source_failed', `${this.#rpc.host} ${text}`);
  }
}

const storage = (key: string, hash: string): RpcCall => ({ method: 'state_getStorage', params: [key, hash] });
const validatorsCall = ({ hash }: BlockPlace) => storage(VALIDATORS, hash);
/** A block is made by the runtime that its parent's state holds, also the block that brings another one. */
const versionCall = ({ hash, parentHash = hash }: BlockPlace): RpcCall => ({
  method: 'state_getRuntimeVersion',
  params: [parentHash],
});

/** What is wrong with one block is no reason to lose the others. */
export function asFailure(error: unknown): ProductError {
  if (error instanceof ProductError) return error;
  throw error;
}
