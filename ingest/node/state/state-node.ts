import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { bytesOf } from '../decode/cursor.ts';
import { type NodeRuntime, readRuntime } from '../decode/runtime.ts';
import type { StateRpc } from '../map-pages.ts';

/** A node, and the runtime that its state at a block is decoded with. */
export interface StateNode {
  readonly rpc: StateRpc;
  runtimeAt(hash: string): Promise<NodeRuntime>;
  /** A block as the line that Sidecar would serve. */
  block(hash: string): Promise<Buffer>;
}

/** Days before and after an upgrade. */
const RUNTIMES_KEPT = 2;
const version = z.object({ specVersion: z.int().min(0) });
const metadata = z.string().startsWith('0x');

/** A node whose runtimes are read once for each spec version. Metadata of version 14 say all that state needs. */
export function stateNode({ rpc, block }: Pick<StateNode, 'rpc' | 'block'>): StateNode {
  const known = new LRUCache<number, Promise<NodeRuntime>>({ max: RUNTIMES_KEPT });
  const read = async (hash: string) =>
    readRuntime(bytesOf(metadata.parse(await rpc.call('state_getMetadata', [hash]))));
  return {
    rpc,
    block,
    runtimeAt: async (hash) => {
      const { specVersion } = version.parse(await rpc.call('state_getRuntimeVersion', [hash]));
      const runtime = known.get(specVersion) ?? read(hash);
      known.set(specVersion, runtime);
      // A failure is not kept: the next day may be asked of another time.
      runtime.catch(() => known.delete(specVersion));
      return runtime;
    },
  };
}
