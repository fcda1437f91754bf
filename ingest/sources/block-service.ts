/** Serves the blocks of one chain as lines of JSON: Sidecar, or a node whose blocks are decoded here. */
export interface BlockService {
  /** For messages and logs: of a node without what may be a key. */
  readonly url: string;
  /** If true, every line is a whole block. Otherwise each line is searched for what it lacks. */
  readonly givesWholeBlocks: boolean;
  /** Name of its runtime, such as `polkadot` or `statemint`. */
  readonly specName: string;
  /** Calls of its blocks so far that no metadata describe: lines hold their bytes. */
  readonly undecodedCalls?: number;
  /** Hash of the first block of its network, or why it does not tell. */
  genesis(): Promise<{ readonly hash: string } | { readonly untold: string }>;
  /** Height and hash of the newest block. */
  head(kind?: 'finalized' | 'best'): Promise<{ readonly number: number; readonly hash: string }>;
  /**
   * One block as a line. A hash gives that very block, whatever is best by now. The time limit is multiplied by
   * `patience`.
   */
  block(id: number | string, patience?: number): Promise<Buffer>;
}
