import type { RawBlock } from './block.ts';
import { bytesOf, Undecodable } from './cursor.ts';
import { blake2Hex } from './hash.ts';
import type { NodeHeader } from './header.ts';
import type { NodeRuntime } from './runtime.ts';
import { compact, orderedTrieRoot } from './trie-root.ts';

/**
 * Returns a contradiction between a block and its hash, or null. Checks that the header has that hash, that the block follows
 * `parentHash`, and that the extrinsics hash to the root in the header. No root covers the events: `decodeBlock` checks
 * that they have one outcome for each extrinsic.
 */
export function checkBlock(runtime: NodeRuntime, block: RawBlock, parentHash?: string): string | null {
  try {
    return contradiction(runtime, block, parentHash);
  } catch (error) {
    if (error instanceof Undecodable) return error.message;
    throw error;
  }
}

function contradiction(runtime: NodeRuntime, { hash, header, extrinsics }: RawBlock, parentHash?: string) {
  const hashed = headerHash(header);
  if (hashed !== hash) return `its header hashes to ${hashed}, not to ${hash}`;
  if (parentHash !== undefined && header.parentHash !== parentHash) {
    return `its parent is ${header.parentHash}, not ${parentHash}`;
  }
  const root = extrinsicsRoot(runtime, extrinsics);
  // Chopsticks, a node for tests, hashes the concatenated extrinsics in place of a trie.
  if (
    root === header.extrinsicsRoot ||
    header.extrinsicsRoot === blake2Hex(Buffer.concat(extrinsics.map(bytesOf)))
  )
    return null;
  return `its extrinsics hash to ${root}, not to ${header.extrinsicsRoot}`;
}

/** The hash of the header in SCALE. */
export function headerHash({ parentHash, number, stateRoot, extrinsicsRoot, digest }: NodeHeader): string {
  const parts = [
    bytesOf(parentHash),
    compact(Number.parseInt(number, 16)),
    bytesOf(stateRoot),
    bytesOf(extrinsicsRoot),
    compact(digest.logs.length),
    ...digest.logs.map(bytesOf),
  ];
  return blake2Hex(Buffer.concat(parts));
}

export function extrinsicsRoot(runtime: NodeRuntime, extrinsics: readonly string[]): string {
  const root = orderedTrieRoot(extrinsics.map(bytesOf), runtime.hashesExtrinsics ? 1 : 0);
  return `0x${Buffer.from(root).toString('hex')}`;
}
