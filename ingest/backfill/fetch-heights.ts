import { pMapIterable } from 'p-map';
import { ProductError, reasonOf } from '../../infra/errors.ts';
import { findLineIncompleteness } from '../decode/completeness.ts';
import type { BlockService } from '../sources/block-service.ts';
import { type HeightRange, heightsOf } from '../sources/heights.ts';
import type { UnservedHeight } from '../sources/skipped-heights.ts';

/** The part of a block service that fetching needs. */
export type BlockSource = Pick<BlockService, 'block' | 'head' | 'servesCompleteBlocks'> & {
  /** Fetches a block only to test the source, if `block` counts the bytes of its answers. */
  readonly probe?: (number: number) => Promise<unknown>;
};

/** The end of a line whose block is not final. */
const NOT_FINAL = Buffer.from('"finalized":false');
const NOT_FINAL_BYTES = NOT_FINAL.length + 8;
/** The height is below the finalized head, so another node behind the same address lags. */
const NOT_FINAL_REASON = 'the source does not serve it as final yet';

/** The block of a height as a line, or the reason why there is none; both if the block is incomplete or not final. */
export type FetchedHeight =
  | { readonly number: number; readonly line: Buffer; readonly reason?: string }
  | UnservedHeight;

/**
 * Fetches heights in order, several at a time. A height that fails is yielded as unserved if the source serves other
 * heights. Throws if the source serves none, because the height itself may be fine.
 */
export async function* fetchHeights(
  source: BlockSource,
  ranges: readonly HeightRange[],
  concurrency: number,
): AsyncGenerator<FetchedHeight> {
  let servedAt = Number.NEGATIVE_INFINITY;
  let probe: Promise<boolean> | null = null;
  /** Concurrent failures share one probe, because a missing range fails for many heights at once. */
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
    const lack = source.servesCompleteBlocks ? null : findLineIncompleteness(line);
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
      // The source may have been down during the first attempt, and serves now.
      return await fetchLine(number);
    } catch (error) {
      if (!isOfSource(error)) throw error;
      return { number, reason: reasonOf(error) };
    }
  };
  yield* pMapIterable(heightsOf(ranges), fetchOne, { concurrency, backpressure: concurrency * 2 });
}

/** Other errors come from this process, for example from its abort signal. */
const isOfSource = (error: unknown) => error instanceof ProductError;

/** Whether the source serves its head. False if the head is the height that failed. */
async function servesAnother(source: BlockSource, number: number): Promise<boolean> {
  try {
    const head = await source.head();
    if (head.number === number) return false;
    await (source.probe ? source.probe(head.number) : source.block(head.number));
    return true;
  } catch {
    // The caller throws the error of its own request.
    return false;
  }
}
