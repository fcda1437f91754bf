import { ProductError, reasonOf } from '../../infra/errors.ts';
import type { BlockService } from '../sources/block-service.ts';
import { displayAddress } from '../sources/service-address.ts';
import { blockHash, heightOf, parseResult, readHeader, runtimeVersion } from './answers.ts';
import type { ArchiveRpc } from './archive-rpc.ts';
import { BlockBatcher } from './block-batcher.ts';
import { BlockReader } from './block-reader.ts';
import { rpcOf } from './node-methods.ts';
import { RawBlocks } from './raw-blocks.ts';
import { NodeRpc, type RpcAnswer, type RpcLimits } from './rpc.ts';
import { Runtimes } from './runtimes.ts';

/** The metadata of a large runtime takes 2 MB as hex, and a batch of blocks several times that. */
const ANSWER_BYTES_MIN = 32 * 2 ** 20;
const USUAL: RpcLimits = { attempts: 6, backoffMs: 250, timeoutMs: 10_000, answerBytes: 64 * 2 ** 20 };
/** A wrong address fails at once. */
const ATTEMPTS_TO_CONNECT = 2;

/** A node with JSON-RPC. Decodes its blocks to the lines that Sidecar would serve. */
export class NodeSource implements BlockService {
  readonly url: string;
  /** The decoder refuses a block unless each extrinsic has one outcome. */
  readonly servesCompleteBlocks = true;
  readonly specName: string;
  readonly rpc: NodeRpc | ArchiveRpc;
  readonly genesisHash: string;
  readonly #blocks: RawBlocks;
  readonly #reader: BlockReader;
  readonly #batcher: BlockBatcher;

  private constructor(url: string, rpc: NodeRpc | ArchiveRpc, specName: string, genesis: string) {
    this.url = url;
    this.specName = specName;
    this.rpc = rpc;
    this.genesisHash = genesis;
    const runtimes = new Runtimes(rpc, `${genesis}/${specName}`);
    this.#blocks = new RawBlocks(rpc, genesis);
    this.#reader = new BlockReader(rpc.host, this.#blocks, runtimes);
    this.#batcher = new BlockBatcher((numbers, timeoutFactor) =>
      this.#reader.readBatch(numbers, timeoutFactor),
    );
  }

  static async connect(address: string, overrides: Partial<RpcLimits> = {}): Promise<NodeSource> {
    const limits = { ...USUAL, ...overrides };
    const answerBytes = Math.max(ANSWER_BYTES_MIN, limits.answerBytes);
    const attempts = Math.min(ATTEMPTS_TO_CONNECT, limits.attempts);
    const rpc = await rpcOf(new NodeRpc(address, { ...limits, answerBytes }), attempts);
    const calls = [
      { method: 'state_getRuntimeVersion', params: [] },
      { method: 'chain_getBlockHash', params: [0] },
    ];
    const [version, genesis] = await rpc.batch(calls, { attempts });
    try {
      const { specName } = parseResult(runtimeVersion, version as RpcAnswer, rpc.host);
      return new NodeSource(
        displayAddress(address),
        rpc,
        specName,
        parseResult(blockHash, genesis as RpcAnswer, rpc.host),
      );
    } catch (error) {
      if (!(error instanceof ProductError)) throw error;
      throw new ProductError(
        error.code,
        `${displayAddress(address)} is not a Substrate node: ${reasonOf(error)}`,
      );
    }
  }

  get undecodedCalls(): number {
    return this.#reader.undecodedCalls;
  }

  async genesis(): Promise<{ readonly hash: string }> {
    return { hash: this.genesisHash };
  }

  async head(kind: 'finalized' | 'best' = 'finalized'): Promise<{ number: number; hash: string }> {
    const method = kind === 'finalized' ? 'chain_getFinalizedHead' : 'chain_getBlockHash';
    const [hashAnswer] = await this.rpc.batch([{ method, params: [] }]);
    const hash = parseResult(blockHash, hashAnswer as RpcAnswer, this.rpc.host);
    const [answer] = await this.rpc.batch([{ method: 'chain_getHeader', params: [hash] }]);
    const header = readHeader(hash, answer as RpcAnswer, this.rpc.host);
    if (header === null)
      throw new ProductError('source_failed', `${this.rpc.host} has no header for its own head ${hash}`);
    const head = { number: heightOf(header), hash };
    if (kind === 'finalized') this.#blocks.noteFinal(head);
    return head;
  }

  block(id: number | string, timeoutFactor = 1): Promise<Buffer> {
    return typeof id === 'number'
      ? this.#batcher.block(id, timeoutFactor)
      : this.#reader.block(id, timeoutFactor);
  }
}
