import { GENESIS } from '../../ingest/chains/genesis.ts';

/** What made blocks take for the hash of block 0. */
const MADE = `0x${'0'.repeat(64)}`;

/** A made block of a chain: at heights 0 and 1 it names the first block that the chain is known to have. */
export function rooted<Made extends object>(block: Made, chain: string): Made {
  const first = GENESIS[chain];
  const { number, hash, parentHash } = block as Readonly<Record<string, unknown>>;
  if (first === undefined) return block;
  if (String(number) === '0' && hash === MADE) return { ...block, hash: first };
  return String(number) === '1' && parentHash === MADE ? { ...block, parentHash: first } : block;
}
