import type { RawBlock } from '../../../ingest/node/decode/block.ts';
import { extrinsicsRoot, headerHash } from '../../../ingest/node/decode/check.ts';
import { readRuntime } from '../../../ingest/node/decode/runtime.ts';
import { type RecordedChain, Recording, sidecarLines } from './decode/recorded.ts';

/** A recorded block whose header is true, and where its state is recorded. */
interface ReplayedBlock extends RawBlock {
  readonly number: number;
  /** What Sidecar serves of it. */
  readonly line: string;
  readonly recording: Recording;
  readonly recordedHash: string;
  readonly recordedParent: string;
}

/** An error that a node answers. */
export class ReplayError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const GENESIS = `0x${'00'.repeat(32)}`;

/**
 * The blocks of recordings, one after another, as a node has them. The tool that recorded them writes roots of extrinsics
 * that are none, and a first parent that is not block 0, so headers, and with them hashes, are made true. With several recordings the runtime is upgraded between
 * them.
 */
export class ReplayedChain {
  readonly blocks: readonly ReplayedBlock[];
  finalized: number;
  best: number;
  /** Of older blocks there is no state. */
  prunedBelow = 0;
  readonly #byHash: ReadonlyMap<unknown, ReplayedBlock>;

  constructor(...chains: readonly RecordedChain[]) {
    const blocks: ReplayedBlock[] = [];
    const recordings = new Map([...new Set(chains)].map((chain) => [chain, new Recording(chain)]));
    for (const chain of chains)
      blocks.push(...trueBlocks(chain, recordings.get(chain) as Recording, blocks.at(-1)));
    this.blocks = blocks;
    this.#byHash = new Map(blocks.map((block) => [block.hash, block]));
    this.finalized = (blocks.at(-1) as ReplayedBlock).number;
    this.best = this.finalized;
  }

  get first(): ReplayedBlock {
    return this.blocks[0] as ReplayedBlock;
  }

  at(number: number): ReplayedBlock | undefined {
    return number > this.best ? undefined : this.blocks[number - this.first.number];
  }

  answer(method: string, params: readonly unknown[]): unknown {
    const [first] = params;
    switch (method) {
      case 'chain_getBlockHash':
        if (Array.isArray(first)) return first.map((number) => this.#hashOf(number));
        return this.#hashOf(first === undefined ? this.best : Number(first));
      case 'chain_getFinalizedHead':
        return this.#hashOf(this.finalized);
      case 'chain_getHeader':
        return (first === undefined ? this.at(this.best) : this.#block(first))?.header ?? null;
      case 'chain_getBlock': {
        const { header, extrinsics } = this.#block(first) ?? {};
        return header ? { block: { header, extrinsics }, justifications: null } : null;
      }
      case 'state_getStorage': {
        const { recording, recordedHash } = this.#stateAt(params[1]);
        return recording.answer(method, first, recordedHash);
      }
      case 'state_getRuntimeVersion':
        return this.#runtimeAnswer(first, (recording, hash) => recording.answer(method, hash));
      case 'state_getMetadata':
        return this.#runtimeAnswer(first, (recording) => `0x${recording.metadata().toString('hex')}`);
      case 'state_call':
        return this.#runtimeAnswer(params[2], (recording, hash) =>
          String(first).startsWith('Metadata_')
            ? recording.answer(method, first, params[1])
            : recording.answer(method, first, params[1], hash),
        );
      default:
        throw new ReplayError(-32601, 'Method not found');
    }
  }

  #hashOf(number: number): string | null {
    if (number === 0) return GENESIS;
    return number === this.first.number - 1 ? this.first.header.parentHash : (this.at(number)?.hash ?? null);
  }

  #block(hash: unknown): ReplayedBlock | undefined {
    const block = this.#byHash.get(hash);
    return block && this.at(block.number);
  }

  #stateAt(hash: unknown): ReplayedBlock {
    const block = this.#block(hash);
    if (!block) throw new ReplayError(4003, `Client error: UnknownBlock: Header was not found: ${hash}`);
    this.#requireState(block.number, hash);
    return block;
  }

  /** The runtime in the state of a block makes the next block. */
  #runtimeAnswer(
    hash: unknown = this.#hashOf(this.best),
    answer: (recording: Recording, recordedHash: string) => unknown,
  ): unknown {
    const isBeforeFirst = hash === this.first.header.parentHash || hash === GENESIS;
    const block = isBeforeFirst ? undefined : this.#stateAt(hash);
    if (!block) this.#requireState(this.first.number - 1, hash);
    const next = block ? this.blocks[block.number + 1 - this.first.number] : this.first;
    if (next) return answer(next.recording, next.recordedParent);
    return block && answer(block.recording, block.recordedHash);
  }

  #requireState(number: number, hash: unknown): void {
    if (number >= this.prunedBelow) return;
    throw new ReplayError(4003, `Client error: UnknownBlock: State already discarded for ${hash}`);
  }
}

function trueBlocks(
  chain: RecordedChain,
  recording: Recording,
  before: ReplayedBlock | undefined,
): ReplayedBlock[] {
  const runtime = readRuntime(recording.metadata());
  const blocks: ReplayedBlock[] = [];
  for (const text of sidecarLines(chain)) {
    const line = JSON.parse(text);
    const recorded = recording.block(Number(line.number));
    const parent = blocks.at(-1) ?? before;
    const number = parent ? parent.number + 1 : Number(line.number);
    const recordedParent: string = recording.answer('chain_getBlockHash', Number(line.number) - 1);
    const parentHash = parent?.hash ?? recordedParent;
    const root = extrinsicsRoot(runtime, recorded.extrinsics);
    const header = {
      ...recorded.header,
      number: `0x${number.toString(16)}`,
      parentHash,
      extrinsicsRoot: root,
    };
    const hash = headerHash(header);
    blocks.push({
      ...recorded,
      ...{ number, header, hash, recording, recordedHash: recorded.hash },
      recordedParent,
      line: JSON.stringify({ ...line, number: String(number), hash, parentHash, extrinsicsRoot: root }),
    });
  }
  return blocks;
}
