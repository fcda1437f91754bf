import { parseExact } from '../decode/json.ts';
import type { BlockService } from '../sources/block-service.ts';
import { LINE_END } from '../sources/lines.ts';

/** Most bytes of lines that are yielded at once. Finality can stall for days, so all lines may not fit into memory. */
const BYTES_AT_ONCE = 16 * 2 ** 20;

interface Head {
  readonly hash: string;
  readonly parentHash: string;
}

/** Tracks the yielded blocks above the finalized height, because a reorganization has to replace them. */
export class BestBlocks {
  readonly #service: BlockService;
  readonly #chain: { readonly relay_chain: string; readonly name: string };
  /** Hashes by height; '' for a height that must be yielded again. */
  readonly #yielded = new Map<number, string>();
  /** The highest finalized height so far, because some nodes behind an address may lag. */
  #finalized = -1;

  constructor(service: BlockService, chain: { readonly relay_chain: string; readonly name: string }) {
    this.#service = service;
    this.#chain = chain;
  }

  /**
   * Yields the new blocks above the finalized height as lines, some 16 MiB at a time. Reads from the best block down to
   * a block that was yielded before. If the reader stops early, the next call yields the rest again.
   */
  async *changes(finalizedHeight: number): AsyncGenerator<Buffer[]> {
    this.#finalized = Math.max(this.#finalized, finalizedHeight);
    const finalized = this.#finalized;
    const best = await this.#service.head('best');
    const known = this.#yielded.get(best.number);
    // A node that lags proves nothing about higher blocks: they stay until another branch replaces them.
    const isBehind = best.number < finalized || (best.number === finalized && known === undefined);
    if (isBehind || known === best.hash) return this.#forget((height) => height < finalized);
    const abandoned = [...this.#yielded.keys()].filter((height) => height > Math.max(best.number, finalized));
    let lines = abandoned.map((height) => this.#tombstone(height));
    let bytes = 0;
    const found = new Map<number, string>();
    // Reads by hash, so that a reorganization in between cannot mix two branches.
    for (let { number, hash } = best; number > finalized && this.#yielded.get(number) !== hash; number--) {
      const block = parseExact((await this.#service.block(hash)).toString('utf8')) as Head;
      // No block above the finalized height is final, even if the service says so.
      const line = Buffer.from(JSON.stringify({ ...block, finalized: false }));
      found.set(number, hash);
      lines.push(line);
      bytes += line.length;
      hash = block.parentHash;
      if (bytes < BYTES_AT_ONCE) continue;
      this.#markUnfinished(found);
      yield inOrder(lines);
      lines = [];
      bytes = 0;
    }
    this.#markUnfinished(found);
    if (lines.length > 0) yield inOrder(lines);
    this.#forget((height) => height < finalized || height > best.number);
    for (const [height, hash] of found) this.#yielded.set(height, hash);
  }

  #forget(isOver: (height: number) => boolean): void {
    for (const height of this.#yielded.keys()) if (isOver(height)) this.#yielded.delete(height);
  }

  /** Marks heights to be yielded again, in case the reader stops before it has taken all of them. */
  #markUnfinished(found: ReadonlyMap<number, string>): void {
    for (const height of found.keys()) this.#yielded.set(height, '');
  }

  /** A line that deletes a height, because the new branch is shorter. */
  #tombstone(height: number): Buffer {
    const { relay_chain, name } = this.#chain;
    const payload = { number: String(height), finalized: false };
    return Buffer.from(
      JSON.stringify({ schema: 'block/1', relay_chain, chain: name, is_deleted: 1, payload }),
    );
  }
}

/** Blocks are read from the highest to the lowest, and yielded in ascending order. */
const inOrder = (lines: readonly Buffer[]): Buffer[] =>
  lines.toReversed().flatMap((line) => [line, LINE_END]);
