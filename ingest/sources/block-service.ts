/** A source of the blocks of one chain, as lines of JSON: Sidecar, or a node, whose blocks this process decodes. */
export interface BlockService {
  /** Address for messages and logs. For a node it omits path and parameters, because they may be keys. */
  readonly url: string;
  /** Whether every line is a complete block. Otherwise each line is checked for missing parts. */
  readonly servesCompleteBlocks: boolean;
  /** Name of the chain's runtime, such as `polkadot` or `statemint`. */
  readonly specName: string;
  /** Number of calls so far that the metadata does not describe. Lines contain their bytes. */
  readonly undecodedCalls?: number;
  /** Hash of the genesis block, or the reason why the service does not return it. */
  genesis(): Promise<{ readonly hash: string } | { readonly unavailable: string }>;
  /** Height and hash of the newest block. */
  head(kind?: 'finalized' | 'best'): Promise<{ readonly number: number; readonly hash: string }>;
  /**
   * Returns one block as a line. A hash returns exactly that block, also after a reorganization. `timeoutFactor` multiplies
   * the time limit.
   */
  block(id: number | string, timeoutFactor?: number): Promise<Buffer>;
}
