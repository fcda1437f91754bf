import { describe, expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { CHAINS, VALIDATORS } from './decode/recorded.ts';
import { ReplayError, ReplayedChain } from './replayed-chain.ts';
import { fetchAll, heights, LIMITS, serve } from './replaying.ts';

describe.each(CHAINS)('%s', (name) => {
  test.each(['ws', 'http'] as const)('gives by %s what Sidecar serves, with few requests', async (scheme) => {
    const chain = new ReplayedChain(name);
    const replay = await serve(chain);
    const source = await NodeSource.connect(replay.url(scheme), LIMITS);
    expect(source.url).toMatch(/^(ws|http):\/\/127\.0\.0\.1:\d+$/);
    expect(await source.genesis()).toEqual({ hash: `0x${'00'.repeat(32)}` });
    expect(await source.head()).toEqual({ number: chain.finalized, hash: chain.at(chain.finalized)?.hash });
    const before = replay.requests.length;
    const { equal, others } = await fetchAll(source, chain);
    expect([...others]).toEqual([]);
    expect(equal).toHaveLength(chain.blocks.length);
    expect(replay.requests.length - before).toBeLessThanOrEqual(10);
  });
});

test('an upgrade inside a stride: each block by the runtime in the state of its parent', async () => {
  const chain = new ReplayedChain('asset-hub-paseo', 'coretime-westend');
  const replay = await serve(chain);
  const { equal, others } = await fetchAll(await NodeSource.connect(replay.url(), LIMITS), chain);
  expect([...others]).toEqual([]);
  expect(equal).toEqual(heights(1, 93));
});

test('a block by its hash is not final, whatever the head', async () => {
  const chain = new ReplayedChain('asset-hub-paseo');
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  const { hash, line } = chain.blocks[4] as (typeof chain.blocks)[number];
  expect((await source.block(hash)).toString()).toBe(line.replace(/true\}$/, 'false}'));
  await expect(source.block(`0x${'12'.repeat(32)}`)).rejects.toThrow(/has no block 0x1212/);
});

test('blocks above the finalized head are not final', async () => {
  const chain = new ReplayedChain('asset-hub-paseo');
  chain.finalized = 20;
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  const lines = await Promise.all([20, 21].map((number) => source.block(number)));
  expect(lines.map((line) => /"finalized":(\w+)\}$/.exec(line.toString())?.[1])).toEqual(['true', 'false']);
});

test('the fee that no event tells is asked for, and left out where the state is pruned', async () => {
  const chain = new ReplayedChain('asset-hub-paseo');
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  expect((await source.block(19)).toString()).toBe(chain.at(19)?.line);
  const asked = replay.requests
    .flat()
    .filter(({ params }) => params[0] === 'TransactionPaymentApi_query_info');
  expect(asked.map(({ params }) => params[2])).toEqual([chain.at(18)?.hash]);
  replay.answerInstead = ({ params }) => {
    if (params[0] === 'TransactionPaymentApi_query_info')
      throw new ReplayError(4003, 'Client error: UnknownBlock: State already discarded');
    return undefined;
  };
  const { extrinsics } = JSON.parse((await source.block(19)).toString());
  const [error] = extrinsics.flatMap(({ info }: { info: { error?: string } }) => info.error ?? []);
  expect(error).toBe('no event tells the fee');
});

test('authors follow the validators of their own session', async () => {
  const chain = new ReplayedChain('paseo');
  const replay = await serve(chain);
  const [first, last] = [chain.first.hash, chain.at(chain.best)?.hash];
  const others = chain.first.validators?.replace(/^(0x..)(.{64})(.{64})/, '$1$3$2');
  // The ends of the stride agree, while others are validators between them.
  replay.answerInstead = ({ method, params: [key, hash] }) =>
    method === 'state_getStorage' && key === VALIDATORS && hash !== first && hash !== last
      ? others
      : undefined;
  const source = await NodeSource.connect(replay.url(), LIMITS);
  const authors = async (numbers: readonly number[]) =>
    (await Promise.all(numbers.map((number) => source.block(number)))).map(
      (line) => JSON.parse(line.toString()).authorId,
    );
  const all = heights(chain.first.number, chain.best);
  const alone: unknown[] = [];
  for (const number of all.slice(1, -1)) alone.push(...(await authors([number])));
  expect((await authors(all)).slice(1, -1)).toEqual(alone);
});
