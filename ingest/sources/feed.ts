import type { ProductError } from '../../infra/errors.ts';

/** Lines to load. */
export interface LoadPortion {
  /** Name of the source. */
  readonly name: string;
  readonly lines: readonly Buffer[];
  /** Approximate size of the lines. */
  readonly bytes: number;
  /** Line number of the first line in its file. */
  readonly firstLine?: number;
}

/** A source that failed, and its error. */
export interface SourceFault {
  readonly source: string;
  readonly error: ProductError;
}

/** Progress of the source that is being read. */
export interface SourceProgress {
  readonly stage: 'connecting' | 'fetching' | 'reading';
  readonly source: string;
  readonly began: number;
  /** Finished part of `total`: bytes in the stage `reading`, units otherwise. */
  done: number;
  readonly total: number | null;
}

/** One of several concurrent loads: the blocks of a chain, or daily values. */
export interface Feed {
  readonly unit: 'block' | 'day';
  /** Units fetched so far. */
  readonly fetchedCount: number;
  readonly progress: SourceProgress | null;
  readonly faults: readonly SourceFault[];
  /** Whether the last source that was tried failed. */
  readonly hasFailed: boolean;
}
