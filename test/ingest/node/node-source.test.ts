import { afterEach, describe, expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { fetchHeights } from '../../../ingest/sources/backfill.ts';
import { CHAINS } from './decode/recorded.ts';
import { NodeReplay } from './replay.ts';
import { ReplayedChain } from './replayed-chain.ts';

const LIMITS = { attempts: 3, backoffMs: 1, timeoutMs: 2000 };
const open: NodeReplay[] = [];
afterEach(async () => {
  for (const replay of open.splice(0)) await replay[Symbol.asyncDispose]();
});

async function serve(chain: ReplayedChain): Promise<NodeReplay> {
  const replay = await new NodeReplay(chain).listen();
  open.push(replay);
  return replay;
}

/** The lines of all heights of a chain, and the reasons of those that were not served. */
async function fetchAll(source: NodeSource, { blocks, first }: ReplayedChain, concurrency = 256) {
  const range = { from: first.number, to: first.number + blocks.length - 1 };
  const lines: string[] = [];
  const reasons = new Map<number, string>();
  for await (const height of fetchHeights(source, [range], concurrency)) {
    if ('line' in height) lines.push(height.line.toString());
    if (height.reason !== undefined) reasons.set(height.number, height.reason);
  }
  return { lines, reasons };
}
const linesOf = ({ blocks }: ReplayedChain) => blocks.map(({ line }) => line);

describe.each(CHAINS)('%s', (name) => {
  const chain = new ReplayedChain(name);

  test.each(['ws', 'http'] as const)('gives by %s what Sidecar serves, with few requests', async (scheme) => {
    const replay = await serve(chain);
    const source = await NodeSource.connect(replay.url(scheme), LIMITS);
    expect(source.url).toMatch(/^(ws|http):\/\/127\.0\.0\.1:\d+$/);
    expect(await source.genesis()).toEqual({ hash: `0x${'00'.repeat(32)}` });
    expect(await source.head()).toEqual({ number: chain.finalized, hash: chain.at(chain.finalized)?.hash });
    const before = replay.requests.length;
    const { lines, reasons } = await fetchAll(source, chain);
    expect(lines).toEqual(linesOf(chain));
    expect(reasons.size).toBe(0);
    expect(replay.requests.length - before).toBeLessThanOrEqual(10);
  });
});
