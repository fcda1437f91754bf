import type { ProductError } from '../../infra/errors.ts';

/** Lines to load. */
export interface LoadPortion {
  /** The source. */
  readonly name: string;
  readonly lines: readonly Buffer[];
  /** Of what was asked for. */
  readonly bytes: number;
  /** The number that the first line has in its file. */
  readonly firstLine?: number;
}

/** Why a source did not give everything. */
export interface SourceFault {
  readonly source: string;
  readonly error: ProductError;
}

/** How far the source is that is read now. */
export interface SourceProgress {
  readonly stage: 'connecting' | 'fetching' | 'reading';
  readonly source: string;
  readonly began: number;
  /** How much was got of how much; of what is read, bytes. */
  done: number;
  readonly total: number | null;
}

/** What is loaded side by side with others: the blocks of a chain, or daily values. */
export interface Feed {
  readonly unit: 'block' | 'day';
  /** Units that were got. */
  readonly got: number;
  readonly progress: SourceProgress | null;
  readonly faults: readonly SourceFault[];
  /** Whether what was asked last failed: nothing came in its place. */
  readonly hasFailed: boolean;
}
