import { decodeAddress } from '../chains/address.ts';
import type { Chain } from '../chains/chain.ts';
import type { Registry } from '../chains/registry.ts';
import { BlockEnvelope, type ReadResult } from './envelope.ts';

/** The first address of a source, if its prefix is not that of the chain. */
export interface ForeignAddress {
  /** Name of the source. */
  readonly file: string;
  readonly chain: Pick<Chain, 'relay_chain' | 'name' | 'ss58_prefix'>;
  readonly prefix: number;
}

const ADDRESS = /"(?:authorId|signer|id)":\s*"([1-9A-HJ-NP-Za-km-z]{46,50})"/;
/** Blocks that are searched at most. */
const BLOCKS_MAX = 16;
const BLOCK_BYTES_MAX = 2 ** 18;

/** Searches the first blocks of a source for an address: a source prints all addresses with one prefix. */
export class FirstAddress {
  readonly #file: string;
  readonly #registry: Registry;
  #blocksLeft = BLOCKS_MAX;
  foreign: ForeignAddress | null = null;

  constructor(file: string, registry: Registry) {
    this.#file = file;
    this.#registry = registry;
  }

  inspect(read: ReadResult): void {
    if (this.#blocksLeft === 0 || !(read instanceof BlockEnvelope)) return;
    this.#blocksLeft--;
    const prefix = printedPrefix(read.payload);
    if (prefix === null) return;
    this.#blocksLeft = 0;
    const chain = this.#registry.find(read.head.chain, read.head.relay_chain);
    if (chain !== undefined && prefix !== chain.ss58_prefix)
      this.foreign = { file: this.#file, chain, prefix };
  }
}

/** The SS58 prefix of the first address in a block; null if it has none. */
function printedPrefix(payload: Buffer): number | null {
  const [, address] = ADDRESS.exec(payload.toString('latin1', 0, BLOCK_BYTES_MAX)) ?? [];
  return address === undefined ? null : (decodeAddress(address)?.prefix ?? null);
}
