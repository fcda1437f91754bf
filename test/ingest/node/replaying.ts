import { afterEach } from 'vitest';
import { fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import type { NodeSource } from '../../../ingest/node/node-source.ts';
import type { HeightRange } from '../../../ingest/sources/heights.ts';
import { NodeReplay } from './replay.ts';
import type { ReplayedChain } from './replayed-chain.ts';

/** Limits that make failures of a replay short. */
export const LIMITS = { attempts: 3, backoffMs: 1, timeoutMs: 2000 };

const open: NodeReplay[] = [];
afterEach(async () => {
  for (const replay of open.splice(0)) await replay[Symbol.asyncDispose]();
});

/** A node for the running test. */
export async function serve(chain: ReplayedChain): Promise<NodeReplay> {
  const replay = await new NodeReplay(chain).listen();
  open.push(replay);
  return replay;
}

/** Numbers of the heights whose lines are those of Sidecar, and the reasons of the others. */
export async function fetchAll(
  source: NodeSource,
  { blocks, first }: ReplayedChain,
  range: HeightRange = { from: first.number, to: first.number + blocks.length - 1 },
) {
  const equal: number[] = [];
  const others = new Map<number, string>();
  for await (const height of fetchHeights(source, [range], 256)) {
    const { number } = height;
    const isEqual = 'line' in height && height.line.toString() === blocks[number - first.number]?.line;
    if (isEqual) equal.push(number);
    else others.set(number, height.reason ?? 'another line');
  }
  return { equal, others };
}

/** The heights from one to another. */
export const heights = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);
