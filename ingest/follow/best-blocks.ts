import { parseExact } from '../decode/json.ts';
import type { BlockService } from '../sources/block-service.ts';
import { LINE_END } from '../sources/lines.ts';

/** Bytes of lines after which they are given: finality can stall for days. */
const BYTES_AT_ONCE = 16 * 2 ** 20;

interface Head {
  readonly hash: string;
  readonly parentHash: string;
}

/** The blocks above the finalized one, as they were given last: what a reorganisation has to replace. */
export class BestBlocks {
  readonly #service: BlockService;
  readonly #chain: { readonly relay_chain: string; readonly name: string };
  readonly #given = new Map<number, string>();
  /** The highest so far: behind one address may be nodes of which some lag. */
  #finalized = -1;

  constructor(service: BlockService, chain: { readonly relay_chain: string; readonly name: string }) {
    this.#service = service;
    this.#chain = chain;
  }

  /**
   * Lines of what is new above the finalized height: from the best block down to one that was given before, some 16 MiB
   * at a time. What was not read to its end is given again by the next call.
   */
  async *changes(finalizedHeight: number): AsyncGenerator<Buffer[]> {
    this.#finalized = Math.max(this.#finalized, finalizedHeight);
    const finalized = this.#finalized;
    const best = await this.#service.head('best');
    const known = this.#given.get(best.number);
    // The head of a node that lags says nothing of the blocks above it: they stay until another branch replaces them.
    const isBehind = best.number < finalized || (best.number === finalized && known === undefined);
    if (isBehind || known === best.hash) return this.#forget((height) => height < finalized);
    const abandoned = [...this.#given.keys()].filter((height) => height > Math.max(best.number, finalized));
    let lines = abandoned.map((height) => this.#tombstone(height));
    let bytes = 0;
    const news = new Map<number, string>();
    // By hash, so that blocks of two branches cannot get mixed when the chain moves meanwhile.
    for (let { number, hash } = best; number > finalized && this.#given.get(number) !== hash; number--) {
      const block = parseExact((await this.#service.block(hash)).toString('utf8')) as Head;
      // Above the finalized height nothing is final, whatever the service says of it.
      const line = Buffer.from(JSON.stringify({ ...block, finalized: false }));
      news.set(number, hash);
      lines.push(line);
      bytes += line.length;
      hash = block.parentHash;
      if (bytes < BYTES_AT_ONCE) continue;
      this.#noteBegun(news);
      yield inOrder(lines);
      lines = [];
      bytes = 0;
    }
    this.#noteBegun(news);
    if (lines.length > 0) yield inOrder(lines);
    this.#forget((height) => height < finalized || height > best.number);
    for (const [height, hash] of news) this.#given.set(height, hash);
  }

  #forget(isOver: (height: number) => boolean): void {
    for (const height of this.#given.keys()) if (isOver(height)) this.#given.delete(height);
  }

  /** Until all is given these heights are given again, or given up: the reader may stop at any of them. */
  #noteBegun(news: ReadonlyMap<number, string>): void {
    for (const height of news.keys()) this.#given.set(height, '');
  }

  /** A new branch may be shorter: the height that it lacks is empty until a block takes it. */
  #tombstone(height: number): Buffer {
    const { relay_chain, name } = this.#chain;
    const payload = { number: String(height), finalized: false };
    return Buffer.from(
      JSON.stringify({ schema: 'block/1', relay_chain, chain: name, is_deleted: 1, payload }),
    );
  }
}

/** Blocks are read from the best one down, and given from the lowest one up. */
const inOrder = (lines: readonly Buffer[]): Buffer[] =>
  lines.toReversed().flatMap((line) => [line, LINE_END]);
