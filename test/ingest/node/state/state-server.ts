import { ProductError } from '../../../../infra/errors.ts';
import type { StateRpc } from '../../../../ingest/node/map-pages.ts';
import { NodeRefusal } from '../../../../ingest/node/rpc-errors.ts';

type Params = readonly unknown[];

/** One block as the state of a node: what it stores, by key. */
export interface StoredBlock {
  readonly height: number;
  readonly hash: string;
  readonly values: ReadonlyMap<string, string>;
  readonly specVersion?: number;
  /** A node that keeps the block and not its state. */
  readonly isPruned?: boolean;
}

/** A node's state methods over maps, with the limits of a node. */
export class StateServer implements StateRpc {
  readonly asked: { readonly method: string; readonly params: Params }[] = [];
  isSyncing = false;
  /** Pages of keys and values that get no answer. */
  failures = 0;
  readonly #byHash: ReadonlyMap<string, StoredBlock>;
  readonly #byHeight: ReadonlyMap<number, StoredBlock>;
  readonly #metadata: (block: StoredBlock) => string;
  readonly #keys = new Map<StoredBlock, string[]>();
  readonly #bytesMax: number;

  constructor(
    blocks: readonly StoredBlock[],
    metadata: (block: StoredBlock) => string,
    bytesMax = 10 * 2 ** 20,
  ) {
    this.#byHash = new Map(blocks.map((block) => [block.hash, block]));
    this.#byHeight = new Map(blocks.map((block) => [block.height, block]));
    this.#metadata = metadata;
    this.#bytesMax = bytesMax;
  }

  /** It has no bodies of blocks. */
  readonly block = (): Promise<Buffer> => Promise.reject(refusal('Method not found: chain_getBlock'));

  /** Heights of the blocks, in order. */
  get heights(): number[] {
    return [...this.#byHeight.keys()].sort((a, b) => a - b);
  }

  async call(method: string, params: Params = []): Promise<unknown> {
    this.asked.push({ method, params });
    if (method === 'state_queryStorageAt' || method === 'state_getKeysPaged') {
      if (this.failures-- > 0) throw new ProductError('source_unreachable', 'the node cannot be reached');
    }
    const result = this.answer(method, params);
    if (JSON.stringify(result).length > this.#bytesMax) throw refusal('Response is too big');
    return result;
  }

  answer(method: string, params: Params): unknown {
    switch (method) {
      case 'chain_getFinalizedHead':
        return this.#head();
      case 'system_health':
        return { peers: 1, isSyncing: this.isSyncing, shouldHavePeers: true };
      case 'chain_getHeader':
        return { number: `0x${this.#block(params[0], true).height.toString(16)}` };
      case 'chain_getBlockHash':
        return this.#byHeight.get(params[0] as number)?.hash ?? null;
      case 'state_getRuntimeVersion':
        return { specVersion: this.#block(params[0] ?? this.#head()).specVersion ?? 1, specName: 'made' };
      case 'state_getMetadata':
        return this.#metadata(this.#block(params[0]));
      case 'state_getStorage':
        return this.#block(params[1]).values.get(params[0] as string) ?? null;
      case 'state_getKeysPaged':
        return this.#page(params as [string, number, string | null, string]);
      case 'state_queryStorageAt': {
        const { hash, values } = this.#block(params[1]);
        const changes = (params[0] as string[]).map((key) => [key, values.get(key) ?? null]);
        return [{ block: hash, changes }];
      }
      default:
        throw refusal(`Method not found: ${method}`);
    }
  }

  #head(): string | undefined {
    return this.#byHeight.get(this.heights.at(-1) as number)?.hash;
  }

  #block(hash: unknown, needsHeaderOnly = false): StoredBlock {
    const block = this.#byHash.get(hash as string);
    if (!block) throw refusal('UnknownBlock: Header was not found in the database');
    if (block.isPruned && !needsHeaderOnly)
      throw refusal(`Client error: UnknownBlock: State already discarded for ${hash}`);
    return block;
  }

  #page([prefix, count, after, hash]: [string, number, string | null, string]): string[] {
    if (count > 1000) throw refusal('count exceeds maximum value. value: 1001, max: 1000');
    const block = this.#block(hash);
    const keys = this.#keys.get(block) ?? [...block.values.keys()].sort();
    this.#keys.set(block, keys);
    let [low, high] = [0, keys.length];
    const first = after ?? prefix;
    while (low < high) {
      const middle = (low + high) >> 1;
      const key = keys[middle] as string;
      if (after === null ? key < first : key <= first) low = middle + 1;
      else high = middle;
    }
    let end = low;
    while (end < low + count && keys[end]?.startsWith(prefix)) end++;
    return keys.slice(low, end);
  }
}

/** An error in place of a result, as the client throws it. */
const refusal = (text: string): NodeRefusal => new NodeRefusal(text, /discarded/.test(text));
