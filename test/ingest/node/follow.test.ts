import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type FollowOptions, followBlocks } from '../../../ingest/follow/block-follower.ts';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { ReplayedChain } from './replayed-chain.ts';
import { LIMITS, serve } from './replaying.ts';

const chainName = { relay_chain: 'solo', name: 'replayed' };

/** Lines of what a follower gives until a height, or the first tombstone. */
async function follow(
  source: NodeSource,
  until: number,
  options: Partial<FollowOptions> & { readonly onLine?: (number: number) => void },
): Promise<{ lines: string[]; unserved: number[] }> {
  const stop = new AbortController();
  const lines: string[] = [];
  const unserved: number[] = [];
  const given = {
    ...{ chain: chainName, best: false, pollMs: 5, concurrency: 64, signal: stop.signal },
    onUnserved: async (heights: readonly { readonly number: number }[]) =>
      void unserved.push(...heights.map(({ number }) => number)),
    ...options,
  };
  for await (const batch of followBlocks(source, given)) {
    for (const line of batch.map(String).filter((text) => text !== '\n')) {
      lines.push(line);
      const { number, is_deleted } = JSON.parse(line);
      options.onLine?.(Number(number));
      if (Number(number) === until || is_deleted) stop.abort();
    }
  }
  return { lines, unserved };
}

test('follows a head that goes back and comes again: every block once, in order', async () => {
  const chain = new ReplayedChain('coretime-westend');
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  chain.best = chain.finalized = 20;
  const moves: Readonly<Record<number, number>> = { 20: 12, 30: 63 };
  const onLine = (number: number) => {
    const to = moves[number];
    if (to !== undefined) chain.best = chain.finalized = to;
    if (to === 12) void setTimeout(40).then(() => (chain.best = chain.finalized = 30));
  };
  const { lines, unserved } = await follow(source, 63, { from: 5, onLine });
  expect(lines).toEqual(chain.blocks.slice(4).map(({ line }) => line));
  expect(unserved).toEqual([]);
});

test('goes on when the node was away', async () => {
  const chain = new ReplayedChain('coretime-westend');
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), { ...LIMITS, attempts: 1 });
  chain.best = chain.finalized = 20;
  const said: (string | null)[] = [];
  const onLine = (number: number) => {
    if (number !== 20) return;
    replay.drops = 3;
    chain.best = chain.finalized = 63;
  };
  const onConnectionChange = (reason: string | null) => void said.push(reason);
  const { lines } = await follow(source, 63, { from: 1, onLine, onConnectionChange });
  expect(lines).toEqual(chain.blocks.map(({ line }) => line));
  expect(said).toEqual([expect.stringMatching(/^127\.0\.0\.1:\d+ closed the connection/), null]);
});

test('gives the blocks above the finalized one once, also when a node that lags tells its best block', async () => {
  const chain = new ReplayedChain('coretime-westend');
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  [chain.finalized, chain.best] = [10, 13];
  const onLine = (number: number) => {
    if (number !== 13) return;
    // Below the best one, at the finalized one, and below it.
    const heads = [12, 10, 8].map((height) => chain.at(height)?.hash);
    replay.answerInstead = ({ method, params }) => {
      if (method !== 'chain_getBlockHash' || params.length > 0) return undefined;
      const head = heads.shift();
      if (head === undefined) chain.best = 14;
      return head;
    };
  };
  const { lines } = await follow(source, 14, { from: 10, best: true, onLine });
  const said = lines.map((line) => {
    const { number, payload, finalized, is_deleted } = JSON.parse(line);
    return `${number ?? payload.number} ${is_deleted ? 'deleted' : finalized ? 'final' : 'best'}`;
  });
  expect(said).toEqual(['10 final', '11 best', '12 best', '13 best', '14 best']);
});
