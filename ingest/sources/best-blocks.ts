import { parseExact } from '../decode/json.ts';
import { LINE_END } from './backfill.ts';
import type { BlockService } from './block-service.ts';

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

  constructor(service: BlockService, chain: { readonly relay_chain: string; readonly name: string }) {
    this.#service = service;
    this.#chain = chain;
  }

  /**
   * Lines of what is new above the finalized height: from the best block down to one that was given before, some 16 MiB
   * at a time. What was not read to its end is given again by the next call.
   */
  async *changes(finalized: number): AsyncGenerator<Buffer[]> {
    const best = await this.#service.head('best');
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
    for (const height of this.#given.keys()) {
      if (height <= finalized || height > best.number) this.#given.delete(height);
    }
    for (const [height, hash] of news) this.#given.set(height, hash);
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
