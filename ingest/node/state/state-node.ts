import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import { bytesOf } from '../decode/cursor.ts';
import { type NodeRuntime, readRuntime } from '../decode/runtime.ts';
import type { StateRpc } from '../map-pages.ts';

/** A node whose state can be decoded. */
export interface StateNode {
  readonly rpc: StateRpc;
  runtimeAt(hash: string): Promise<NodeRuntime>;
  /** A block as the line that Sidecar would serve. */
  block(hash: string): Promise<Buffer>;
}

/** Enough for the days before and after an upgrade. */
const RUNTIMES_KEPT = 2;
const version = z.object({ specVersion: z.int().min(0) });
const metadata = z.string().startsWith('0x');

/** Caches a runtime for each spec version. Metadata version 14 is enough to decode state. */
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
      // Errors are not cached: the next request may succeed.
      runtime.catch(() => known.delete(specVersion));
      return runtime;
    },
  };
}
