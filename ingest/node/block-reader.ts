import { ProductError } from '../../infra/errors.ts';
import type { BatchLines } from './block-batcher.ts';
import type { DecodedBlocks } from './decode-worker.ts';
import { decodeBlocks, ThreadEnded } from './decoder.ts';
import {
  type BlockRef,
  type FetchedBlock,
  type RawBlocks,
  type Results,
  toProductError,
} from './raw-blocks.ts';
import type { Runtimes } from './runtimes.ts';

type Line = Buffer | ProductError;

/** The event `session.NewSession` as lines contain it. The validators may change after a block with this event. */
const NEW_SESSION = Buffer.from('{"pallet":"session","method":"NewSession"}');

const NOTHING_FINAL = { finalizedHash: null, finalTo: -1 };

/** Converts the blocks of a node to lines. */
export class BlockReader {
  undecodedCalls = 0;
  readonly #host: string;
  readonly #blocks: RawBlocks;
  readonly #runtimes: Runtimes;

  constructor(host: string, blocks: RawBlocks, runtimes: Runtimes) {
    this.#host = host;
    this.#blocks = blocks;
    this.#runtimes = runtimes;
  }

  /** The lines of sorted heights. */
  async readBatch(numbers: readonly number[], timeoutFactor: number): Promise<BatchLines> {
    const { refs, ...final } = await this.#blocks.findBlocks(numbers, timeoutFactor);
    const present = refs.filter((ref) => !(ref instanceof Error)) as BlockRef[];
    const { lines, bytes } = await this.#lines(present, final, timeoutFactor);
    const rest = lines.values();
    return {
      lines: refs.map((ref) => (ref instanceof Error ? ref : rest.next().value)) as Line[],
      bytes,
    };
  }

  /** The line of a block by its hash, marked as not final. */
  async block(hash: string, timeoutFactor: number): Promise<Buffer> {
    const ref = await this.#blocks.findBlock(hash, timeoutFactor);
    const [line] = (await this.#lines([ref], NOTHING_FINAL, timeoutFactor)).lines;
    if (line instanceof Buffer) return line;
    throw line;
  }

  async #lines(
    refs: readonly BlockRef[],
    final: { readonly finalizedHash: string | null; readonly finalTo: number },
    timeoutFactor: number,
  ) {
    const fetched = await this.#blocks.fetch(refs, final, timeoutFactor);
    const lines = await this.#decode(fetched);
    const hasNewSession = lines.some(
      (line, i) => i > 0 && line instanceof Buffer && line.includes(NEW_SESSION),
    );
    if (hasNewSession) await this.#correctAuthors(refs, fetched, lines, timeoutFactor);
    return {
      lines,
      bytes: fetched.reduce((sum, block) => sum + (block instanceof Error ? 0 : sizeOf(block)), 0),
    };
  }

  /** Decodes blocks again whose validators differ from those of the first and the last block. */
  async #correctAuthors(
    refs: readonly BlockRef[],
    fetched: Results<FetchedBlock>,
    lines: Line[],
    timeoutFactor: number,
  ): Promise<void> {
    const validators = await this.#blocks.validators(refs, timeoutFactor);
    const corrected = fetched.map((block, i) => {
      const own = validators[i];
      if (block instanceof Error || own === block.raw.validators || own === undefined) return null;
      return own instanceof Error ? own : { ...block, raw: { ...block.raw, validators: own } };
    });
    const again = await this.#decode(corrected.filter((block) => block !== null));
    for (const [i, block] of corrected.entries()) if (block !== null) lines[i] = again.shift() as Line;
  }

  async #decode(blocks: Results<FetchedBlock>): Promise<Line[]> {
    const lines: Line[] = [];
    const fetched: (FetchedBlock & { readonly at: number })[] = [];
    for (const [at, block] of blocks.entries()) {
      if (block instanceof Error) lines[at] = block;
      else fetched.push({ ...block, at });
    }
    for (const [specVersion, group] of Map.groupBy(fetched, (block) => block.specVersion)) {
      const decoded = await this.#decodeWith(specVersion, group);
      for (const [i, line] of decoded.entries()) lines[group[i]?.at as number] = line;
    }
    return lines;
  }

  async #decodeWith(specVersion: number, blocks: readonly FetchedBlock[]): Promise<Line[]> {
    const [first] = blocks;
    if (first === undefined) return [];
    const runtime = await this.#runtimes
      .of(specVersion, first.parentHash ?? first.hash)
      .catch(toProductError);
    if (runtime instanceof Error) return blocks.map(() => runtime);
    const rawBlocks = blocks.map(({ raw, parentHash, isFirst }) => ({
      raw,
      parentHash: isFirst ? undefined : parentHash,
    }));
    let decoded: DecodedBlocks;
    try {
      decoded = await decodeBlocks({ runtime, blocks: rawBlocks });
    } catch (error) {
      if (!(error instanceof ThreadEnded)) throw error;
      const { place, message } = error;
      if (place === null) return blocks.map((block) => this.#failure(block, message));
      return [
        ...(await this.#decodeWith(specVersion, blocks.slice(0, place))),
        this.#failure(blocks[place] as FetchedBlock, message),
        ...(await this.#decodeWith(specVersion, blocks.slice(place + 1))),
      ];
    }
    if (decoded.blocks.every((block) => 'reason' in block)) this.#runtimes.forget(specVersion);
    const lines: Line[] = [];
    for (const [i, block] of blocks.entries()) {
      const result = decoded.blocks[i] as DecodedBlocks['blocks'][number];
      if ('reason' in result) lines.push(this.#failure(block, result.reason));
      else if (result.feeless.length > 0) lines.push(...(await this.#decodeWithFees(block, result.feeless)));
      else {
        this.undecodedCalls += result.undecodedCalls;
        lines.push(Buffer.from(decoded.bytes.buffer, result.begin, result.end - result.begin));
      }
    }
    return lines;
  }

  async #decodeWithFees(block: FetchedBlock, feeless: readonly number[]): Promise<Line[]> {
    const fees = await this.#blocks.fees(block, feeless).catch(toProductError);
    if (fees instanceof Error) return [fees];
    return this.#decodeWith(block.specVersion, [{ ...block, raw: { ...block.raw, fees } }]);
  }

  #failure({ number }: BlockRef, reason: string): ProductError {
    return new ProductError('source_failed', `block ${number} of ${this.#host}: ${reason}`);
  }
}

/** Size of a block in the answers of the node, in characters of hex. */
const sizeOf = ({ raw }: FetchedBlock) =>
  raw.extrinsics.reduce((sum, extrinsic) => sum + extrinsic.length, raw.events?.length ?? 0);
