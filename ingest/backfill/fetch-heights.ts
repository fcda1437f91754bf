import { pMapIterable } from 'p-map';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { findLineIncompleteness } from '../decode/completeness.ts';
import type { BlockService } from '../sources/block-service.ts';
import { type Heights, heightsOf } from '../sources/heights.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';

/** A source of blocks, as far as heights are fetched from it. */
export type BlockSource = Pick<BlockService, 'block' | 'head' | 'givesWholeBlocks'> & {
  /** Asks for a block that nobody takes, where `block` counts what it gives. */
  readonly probe?: (number: number) => Promise<unknown>;
};

/** How a line ends whose block is not final. */
const NOT_FINAL = Buffer.from('"finalized":false');
const NOT_FINAL_BYTES = NOT_FINAL.length + 8;
/** The head is above it, so another node behind the same address lags. */
const NOT_FINAL_REASON = 'the source does not give it as final yet';

/** The block of a height as a line, why there is none, or both for a block that is not whole or not final. */
export type FetchedHeight =
  | { readonly number: number; readonly line: Buffer; readonly reason?: string }
  | UnservedHeight;

/**
 * Fetches many heights, in order: several at a time, and no more than are taken. A height that fails is given as
 * unserved when the source serves others; throws when it serves nothing, since then nothing is known of the height.
 */
export async function* fetchHeights(
  source: BlockSource,
  ranges: readonly Heights[],
  concurrency: number,
): AsyncGenerator<FetchedHeight> {
  let servedAt = Number.NEGATIVE_INFINITY;
  let probe: Promise<boolean> | null = null;
  /** Heights of a range that is not there are asked for at the same time: what the source says to one holds for all. */
  const serves = async (number: number): Promise<boolean> => {
    if (probe !== null && (await probe)) return true;
    const own = servesAnother(source, number);
    probe = own;
    const isServed = await own;
    if (isServed) servedAt = performance.now();
    if (probe === own) probe = null;
    return isServed;
  };
  const fetchLine = async (number: number): Promise<FetchedHeight> => {
    const line = await source.block(number);
    servedAt = performance.now();
    const lack = source.givesWholeBlocks ? null : findLineIncompleteness(line);
    const reason = lack ?? (line.includes(NOT_FINAL, -NOT_FINAL_BYTES) ? NOT_FINAL_REASON : null);
    return reason === null ? { number, line } : { number, line, reason };
  };
  const fetchOne = async (number: number): Promise<FetchedHeight> => {
    const began = performance.now();
    try {
      return await fetchLine(number);
    } catch (error) {
      if (!isOfSource(error)) throw error;
      if (servedAt < began && !(await serves(number))) throw error;
    }
    try {
      // The source may have been away before: it is asked once more while it is known to serve.
      return await fetchLine(number);
    } catch (error) {
      if (!isOfSource(error)) throw error;
      return { number, reason: reasonOf(error) };
    }
  };
  yield* pMapIterable(heightsOf(ranges), fetchOne, { concurrency, backpressure: concurrency * 2 });
}

/** Not of this process, which may have been told to stop. */
const isOfSource = (error: unknown) => error instanceof ProductError;

/** The head is the block that a source is most sure to serve; a height above which there is none may just be late. */
async function servesAnother(source: BlockSource, number: number): Promise<boolean> {
  try {
    const head = await source.head();
    if (head.number === number) return false;
    await (source.probe ? source.probe(head.number) : source.block(head.number));
    return true;
  } catch {
    // A source that does not answer serves nothing; its own request reports the failure.
    return false;
  }
}
