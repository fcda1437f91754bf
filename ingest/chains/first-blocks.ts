import type { Chain } from './chain.ts';
import type { Registry } from './registry.ts';

const GENESIS_HASH = {
  '0': /"hash":\s*"(0x[0-9a-fA-F]{64})"/,
  '1': /"parentHash":\s*"(0x[0-9a-fA-F]{64})"/,
} as const;
const HEAD_BYTES = 4096;

/**
 * Why a block is certainly of another chain: a bare block names none, but the first two heights tell the hash of the
 * first block. Null for every other height, and where no other known chain begins so.
 */
export function refusalOfOtherChain(
  { chains }: Pick<Registry, 'chains'>,
  { name, genesis }: Pick<Chain, 'name' | 'genesis'>,
  number: string,
  payload: Buffer,
): string | null {
  if (number !== '0' && number !== '1') return null;
  const [, hash] = GENESIS_HASH[number].exec(payload.toString('latin1', 0, HEAD_BYTES)) ?? [];
  const first = hash?.toLowerCase();
  if (first === undefined || first === genesis) return null;
  const other = chains.find((chain) => chain.genesis === first);
  if (other === undefined) return null;
  return `chain: block ${number} is of ${other.name}, whose first block is ${first}, and not of ${name}; the blocks with it are likely of ${other.name} too: ingest them with --chain ${other.name}`;
}
