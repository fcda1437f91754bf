import { describe, expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { EVENTS } from './decode/recorded.ts';
import type { NodeReplay } from './replay.ts';
import { ReplayError, ReplayedChain } from './replayed-chain.ts';
import { fetchAll, heights, LIMITS, serve } from './replaying.ts';

const name = 'coretime-westend';
const ALL = heights(1, 63);

describe.each(['ws', 'http'] as const)('a node over %s loses no height', (scheme) => {
  test.each<[string, (replay: NodeReplay) => unknown]>([
    ['that takes few calls in a batch', (replay) => Object.assign(replay, { batchMax: 20 })],
    [
      'that takes no list of heights',
      (replay) => {
        replay.answerInstead = ({ params }) => {
          if (Array.isArray(params[0])) throw new ReplayError(-32602, 'Invalid params');
          return undefined;
        };
      },
    ],
    ['that takes no batch', (replay) => Object.assign(replay, { batchMax: 1 })],
    ['that cuts answers', (replay) => Object.assign(replay, { bytesMax: 260_000 })],
    ['that drops connections', (replay) => Object.assign(replay, { drops: 2 })],
    ['that falls silent', (replay) => Object.assign(replay, { silences: 2 })],
    [
      'that limits the rate',
      (replay) => {
        const until = performance.now() + 60;
        replay.answerInstead = () => {
          if (performance.now() < until) throw new ReplayError(-32029, 'Too many requests');
          return undefined;
        };
      },
    ],
    [
      'with internal errors that pass',
      (replay) => {
        const failed = new Set<unknown>();
        replay.answerInstead = ({ method, params }) => {
          const question = `${method} ${JSON.stringify(params)}`;
          if (failed.has(question)) return undefined;
          failed.add(question);
          throw new ReplayError(-32603, 'Internal error');
        };
      },
    ],
  ])('%s', async (_what, spoil) => {
    const chain = new ReplayedChain(name);
    const replay = await serve(chain);
    const source = await NodeSource.connect(replay.url(scheme), { ...LIMITS, attempts: 8, timeoutMs: 300 });
    spoil(replay);
    const { equal, others } = await fetchAll(source, chain);
    expect([...others]).toEqual([]);
    expect(equal).toEqual(ALL);
  });
});

test('state that is pruned is named, and the blocks after it are served', async () => {
  const chain = new ReplayedChain(name);
  chain.prunedBelow = 30;
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  const { equal, others } = await fetchAll(source, chain);
  // The runtime of block 30 is in the state of block 29.
  expect(equal).toEqual(heights(31, 63));
  expect([...others.keys()]).toEqual(heights(1, 30));
  for (const reason of others.values()) {
    expect(reason).toMatch(
      /^127\.0\.0\.1:\d+ Client error: .*State already discarded.*; use an archive node/,
    );
  }
});

test('blocks that are not what they say are refused with the reason, the others served', async () => {
  const chain = new ReplayedChain(name);
  const replay = await serve(chain);
  const [a, b, c, d] = [10, 20, 30, 40].map(
    (number) => chain.at(number) as NonNullable<ReturnType<ReplayedChain['at']>>,
  );
  const blockOf = ({ header, extrinsics }: NonNullable<typeof a>) => ({ block: { header, extrinsics } });
  replay.answerInstead = ({ method, params }) => {
    if (method === 'chain_getBlock' && params[0] === a?.hash) return blockOf(b as NonNullable<typeof b>);
    if (method === 'chain_getBlock' && params[0] === b?.hash)
      return blockOf({ ...(b as NonNullable<typeof b>), extrinsics: b?.extrinsics.slice(1) ?? [] });
    if (method === 'state_getStorage' && params[1] === c?.hash && params[0] === EVENTS) return d?.events;
    if (method === 'chain_getBlock' && params[0] === d?.hash) return null;
    return undefined;
  };
  const source = await NodeSource.connect(replay.url(), LIMITS);
  const { equal, others } = await fetchAll(source, chain);
  expect(equal).toEqual(ALL.filter((number) => ![10, 20, 30, 40].includes(number)));
  const reasons = [...others.values()].map((reason) => reason.replaceAll(/0x[\da-f]{64}/g, 'HASH'));
  expect(reasons).toEqual([
    expect.stringMatching(/^127\.0\.0\.1:\d+ returned block 20 in place of 10$/),
    expect.stringMatching(/^block 20 of 127\.0\.0\.1:\d+: its extrinsics hash to HASH, not to HASH$/),
    expect.stringMatching(/^block 30 of 127\.0\.0\.1:\d+: .*(outcomes|events)/),
    expect.stringMatching(/^127\.0\.0\.1:\d+ has no block 40$/),
  ]);
});

test('a node that lags behind has no newer blocks, and gives them when it has caught up', async () => {
  const chain = new ReplayedChain(name);
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  [chain.best, chain.finalized] = [40, 38];
  const { others } = await fetchAll(source, chain);
  expect([...others.keys()]).toEqual(heights(39, 63));
  expect(others.get(39)).toBe('the source does not serve it as final yet');
  expect(others.get(41)).toMatch(/has no block 41$/);
  chain.best = chain.finalized = 63;
  expect((await fetchAll(source, chain)).equal).toEqual(ALL);
});

test('what is no node is refused without the key in its address', async () => {
  const replay = await serve(new ReplayedChain(name));
  replay.answerInstead = () => {
    throw new ReplayError(-32601, 'Method not found');
  };
  for (const scheme of ['ws', 'http'] as const) {
    await expect(NodeSource.connect(replay.url(scheme), LIMITS)).rejects.toMatchObject({
      message: expect.stringMatching(
        /^\w+:\/\/127\.0\.0\.1:\d+ is not a Substrate node: 127.*Method not found$/,
      ),
    });
  }
});
