import type { z } from 'zod';
import { ProductError } from '../../infra/errors.ts';
import {
  blockAnswer,
  blockHash,
  heightOf,
  hex,
  parseResult,
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
export interface BlockRef {
  readonly number: number;
  readonly hash: string;
  /** Hash of the block below it; block 0 has none. */
  readonly parentHash: string | undefined;
  /** Whether it is the lowest requested block, so that its parent was not read. */
  readonly isFirst: boolean;
}

/** A block as the node stores it, with the data that decoding needs. */
export interface FetchedBlock extends BlockRef {
  readonly raw: RawBlock;
  /** Version of the runtime that made the block: the runtime in the state of the parent. */
  readonly specVersion: number;
}

/** A value or an error for each block. */
export type Results<T> = readonly (T | ProductError)[];

interface FinalBlock {
  readonly number: number;
  readonly hash: string;
}

/** Requests many blocks of a node in one batch. */
export class RawBlocks {
  readonly #rpc: BatchRpc;
  readonly #genesis: string;
  /** The highest final block so far, because some nodes behind an address may lag. */
  #final: FinalBlock | null = null;
  /** The lowest requested height. */
  #lowest = Number.POSITIVE_INFINITY;
  /** Whether `chain_getBlockHash` takes a list of heights, as in Substrate nodes. */
  #takesLists = true;

  constructor(rpc: BatchRpc, genesis: string) {
    this.#rpc = rpc;
    this.#genesis = genesis;
  }

  noteFinal(head: FinalBlock): void {
    if (this.#final === null || head.number > this.#final.number) this.#final = head;
  }

  /** The hashes of heights, the finalized head of the same node, and a height up to which all blocks are final. */
  async findBlocks(
    numbers: readonly number[],
    timeoutFactor: number,
  ): Promise<{ refs: Results<BlockRef>; finalizedHash: string; finalTo: number }> {
    this.#lowest = Math.min(this.#lowest, ...numbers);
    const final = this.#final ?? { number: 0, hash: this.#genesis };
    const wanted = [...new Set([0, final.number, ...numbers.flatMap((n) => [Math.max(0, n - 1), n])])];
    const [head, ...list] = await this.#hashes(wanted, timeoutFactor);
    const finalizedHash = this.#take(blockHash, head);
    const taken = this.#each(blockHash.nullable(), list);
    const hashes = new Map(taken.map((hash, i) => [wanted[i], hash]));
    // The address may serve another network now.
    if (hashes.get(0) !== this.#genesis)
      throw this.#failure(`serves another network now, with the genesis block ${hashes.get(0)}`);
    const refs = numbers.map((number) => {
      const hash = hashes.get(number);
      if (hash instanceof Error) return hash;
      if (!hash) return this.#failure(`has no block ${number}`);
      const isFirst = number <= this.#lowest;
      if (number === 0) return { number, hash, parentHash: undefined, isFirst };
      const parentHash = hashes.get(number - 1);
      if (parentHash instanceof Error) return parentHash;
      // The state of the parent has the runtime that decodes the block.
      return parentHash ? { number, hash, parentHash, isFirst } : this.#failure(`has no block ${number - 1}`);
    });
    // If the node has the final block, all blocks up to it are final, even if the node's own head lags.
    return { refs, finalizedHash, finalTo: hashes.get(final.number) === final.hash ? final.number : -1 };
  }

  /** Hashes of the finalized head and of the heights. */
  async #hashes(heights: readonly number[], timeoutFactor: number): Promise<readonly RpcAnswer[]> {
    const head = { method: 'chain_getFinalizedHead', params: [] };
    const hashOf = (heights: unknown) => ({ method: 'chain_getBlockHash', params: [heights] });
    if (this.#takesLists) {
      const answers = await this.#rpc.batch([head, hashOf(heights)], { timeoutFactor });
      const [first, list] = answers as [RpcAnswer, RpcAnswer];
      if ('error' in list && !(list.error instanceof NodeRefusal)) throw list.error;
      if ('result' in list && Array.isArray(list.result) && list.result.length === heights.length)
        return [first, ...list.result.map((result: unknown) => ({ result }))];
      this.#takesLists = false;
    }
    return this.#rpc.batch([head, ...heights.map(hashOf)], { timeoutFactor });
  }

  /** Finds the block with a hash, also if it is not final. */
  async findBlock(hash: string, timeoutFactor: number): Promise<BlockRef> {
    const [answer] = await this.#rpc.batch([{ method: 'chain_getHeader', params: [hash] }], {
      timeoutFactor,
    });
    const header = readHeader(hash, answer as RpcAnswer, this.#rpc.host);
    if (header === null) throw this.#failure(`has no block ${hash}`);
    const number = heightOf(header);
    return { number, hash, parentHash: number === 0 ? undefined : header.parentHash, isFirst: true };
  }

  /** Fetches sorted blocks. Blocks up to `finalTo`, or up to the height of `finalizedHash`, are final. */
  async fetch(
    refs: readonly BlockRef[],
    { finalizedHash, finalTo }: { readonly finalizedHash: string | null; readonly finalTo: number },
    timeoutFactor: number,
  ): Promise<Results<FetchedBlock>> {
    const ends = refs.filter((_, i) => i === 0 || i === refs.length - 1);
    const calls = [
      ...refs.flatMap(({ hash }) => [{ method: 'chain_getBlock', params: [hash] }, storage(EVENTS, hash)]),
      ...ends.map(versionCall),
      ...ends.map(validatorsCall),
      ...(finalizedHash === null ? [] : [{ method: 'chain_getHeader', params: [finalizedHash] }]),
    ];
    const answers = await this.#rpc.batch(calls, { timeoutFactor });
    const blockAnswers = answers.splice(0, refs.length * 2);
    const versionAnswers = answers.splice(0, ends.length);
    const validatorAnswers = answers.splice(0, ends.length);
    const versions = await this.#spread(refs, versionAnswers, versionCall, timeoutFactor);
    const validators = await this.#spread(refs, validatorAnswers, validatorsCall, timeoutFactor);
    const head =
      finalizedHash === null ? null : readHeader(finalizedHash, answers[0] as RpcAnswer, this.#rpc.host);
    const finalized = Math.max(finalTo, head === null ? -1 : heightOf(head));
    return refs.map((ref, i) => {
      try {
        const block = this.#take(blockAnswer, blockAnswers[i * 2]);
        const events = this.#take(storageAnswer, blockAnswers[i * 2 + 1]);
        if (block === null) throw this.#failure(`has no block ${ref.number}`);
        const { header, extrinsics } = block.block;
        if (heightOf(header) !== ref.number)
          throw this.#failure(`returned block ${heightOf(header)} in place of ${ref.number}`);
        const { specVersion } = this.#take(runtimeVersion, versions[i]);
        const raw = {
          ...{ hash: ref.hash, header, extrinsics, events },
          validators: this.#take(storageAnswer, validators[i]),
          finalized: ref.number <= finalized,
        };
        return { ...ref, raw, specVersion };
      } catch (error) {
        return toProductError(error);
      }
    });
  }

  /** The validators at each block. */
  async validators(refs: readonly BlockRef[], timeoutFactor: number): Promise<Results<string | null>> {
    const answers = await this.#rpc.batch(refs.map(validatorsCall), { timeoutFactor });
    return this.#each(storageAnswer, answers);
  }

  /**
   * The fees of extrinsics, without tips, as the runtime computes them. Leaves out fees that the node refuses to compute,
   * for example because it pruned the state.
   */
  async fees(
    { number, parentHash, raw }: FetchedBlock,
    extrinsics: readonly number[],
  ): Promise<Map<number, string>> {
    const calls = extrinsics.map((index) => {
      const bytes = raw.extrinsics[index] as string;
      const params = `${bytes}${u32(bytes.length / 2 - 1).slice(2)}`;
      return { method: 'state_call', params: ['TransactionPaymentApi_query_info', params, parentHash] };
    });
    const answers = await this.#rpc.batch(calls);
    const fees = new Map<number, string>();
    for (const [i, answer] of answers.entries()) {
      if ('error' in answer && answer.error instanceof NodeRefusal) continue;
      const bytes = Buffer.from(this.#take(hex, answer).slice(2), 'hex');
      // The fee is a u128 after weight and class.
      if (bytes.length < 16) throw this.#failure(`returned no fee for block ${number}`);
      const fee = bytes.readBigUInt64LE(bytes.length - 16) + (bytes.readBigUInt64LE(bytes.length - 8) << 64n);
      fees.set(extrinsics[i] as number, String(fee));
    }
    return fees;
  }

  /** Repeats the answer of the first block for all blocks if the last block has the same. Otherwise requests all. */
  async #spread(
    refs: readonly BlockRef[],
    ends: readonly RpcAnswer[],
    callOf: (ref: BlockRef) => RpcCall,
    timeoutFactor: number,
  ): Promise<readonly RpcAnswer[]> {
    if (ends.length === refs.length) return ends;
    const [first, last] = ends.map((answer) => ('error' in answer ? null : JSON.stringify(answer.result)));
    if (first === last && first !== null) return refs.map(() => ends[0] as RpcAnswer);
    return this.#rpc.batch(refs.map(callOf), { timeoutFactor });
  }

  #each<T>(schema: z.ZodType<T>, answers: readonly RpcAnswer[]): Results<T> {
    return answers.map((answer) => {
      try {
        return this.#take(schema, answer);
      } catch (error) {
        return toProductError(error);
      }
    });
  }

  #take<T>(schema: z.ZodType<T>, answer: RpcAnswer | undefined): T {
    return parseResult(schema, answer as RpcAnswer, this.#rpc.host);
  }

  #failure(text: string): ProductError {
    return new ProductError('source_failed', `${this.#rpc.host} ${text}`);
  }
}

const storage = (key: string, hash: string): RpcCall => ({ method: 'state_getStorage', params: [key, hash] });
const validatorsCall = ({ hash }: BlockRef) => storage(VALIDATORS, hash);
/** The runtime in the parent's state makes a block, even a block that upgrades the runtime. */
const versionCall = ({ hash, parentHash = hash }: BlockRef): RpcCall => ({
  method: 'state_getRuntimeVersion',
  params: [parentHash],
});

/** Turns the error of one block into a value, so that the other blocks are not lost. */
export function toProductError(error: unknown): ProductError {
  if (error instanceof ProductError) return error;
  throw error;
}
