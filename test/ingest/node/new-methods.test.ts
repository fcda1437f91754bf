import { expect, test } from 'vitest';
import { ArchiveRpc } from '../../../ingest/node/archive-rpc.ts';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { NodeRpc } from '../../../ingest/node/rpc.ts';
import { stateNode } from '../../../ingest/node/state/state-node.ts';
import { kindsOf, takeState } from '../../../ingest/node/state/take-state.ts';
import type { Subject } from '../../../ingest/sources/snapshot-line.ts';
import { CHAINS, type RecordedChain } from './decode/recorded.ts';
import type { NodeReplay } from './replay.ts';
import { ReplayedChain } from './replayed-chain.ts';
import { fetchAll, heights, LIMITS, serve } from './replaying.ts';
import { paseo } from './state/made-chains.ts';
import { RECORDED_HEIGHTS, recordedState } from './state/recorded.ts';

async function serveNew(chain: ReplayedChain): Promise<NodeReplay> {
  return Object.assign(await serve(chain), { methods: 'new' as const });
}

const methodsOf = ({ requests }: NodeReplay) => new Set(requests.flat().map(({ method }) => method));

test.each(CHAINS)(
  'a node of %s with the new methods only gives the lines that Sidecar gives',
  async (name) => {
    const chain = new ReplayedChain(name);
    const replay = await serveNew(chain);
    const source = await NodeSource.connect(replay.url(), LIMITS);
    const { equal, others } = await fetchAll(source, chain);
    expect([...others]).toEqual([]);
    expect(equal).toEqual(heights(chain.first.number, chain.best));
    expect([...methodsOf(replay)].filter((method) => /^(?:chain|state)_/.test(method))).toEqual([]);
  },
);

test('a node with both is asked by the old ones', async () => {
  const chain = new ReplayedChain('coretime-westend');
  const replay = Object.assign(await serve(chain), { methods: 'both' as const });
  const { equal } = await fetchAll(await NodeSource.connect(replay.url(), LIMITS), chain);
  expect(equal).toEqual(heights(1, 63));
  expect([...methodsOf(replay)].filter((method) => method.includes('_v1_'))).toEqual([]);
});

test('the new methods tell the heads, and blocks above the finalized one', async () => {
  const chain = new ReplayedChain('coretime-westend');
  const replay = await serveNew(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  [chain.finalized, chain.best] = [40, 43];
  expect(await source.head()).toEqual({ number: 40, hash: chain.at(40)?.hash });
  const best = { number: 43, hash: chain.at(43)?.hash as string };
  expect(await source.head('best')).toEqual(best);
  const line = JSON.parse((await source.block(best.hash)).toString());
  expect(line).toEqual({ ...JSON.parse(chain.at(43)?.line as string), finalized: false });
  chain.best = 40;
  expect((await source.head('best')).number).toBe(40);
  expect(methodsOf(replay)).toContain('chainHead_v1_unfollow');
});

test('over HTTP a node with the new methods only is refused, with what to do', async () => {
  const replay = await serveNew(new ReplayedChain('coretime-westend'));
  await expect(NodeSource.connect(replay.url('http'), LIMITS)).rejects.toThrow(
    /^127\.0\.0\.1:\d+ has archive_v1_ methods .*: use its ws:\/\/ or wss:\/\/ URL/,
  );
});

test('state that is pruned is named as such', async () => {
  const chain = new ReplayedChain('coretime-westend');
  chain.prunedBelow = 30;
  const source = await NodeSource.connect((await serveNew(chain)).url(), LIMITS);
  const { equal, others } = await fetchAll(source, chain);
  expect(equal).toEqual(heights(31, 63));
  for (const reason of others.values())
    expect(reason).toMatch(/State already discarded.*; use an archive node/);
});

const SUBJECTS = {
  paseo: 'paseo',
  'coretime-westend': 'coretime-paseo',
  'asset-hub-paseo': 'asset-hub-paseo',
} as const;

/** Snapshots of a recorded block, and the reasons of those that the chain lacks. */
async function taken(name: RecordedChain, node: Parameters<typeof stateNode>[0], subject: Subject) {
  const height = RECORDED_HEIGHTS[name][2];
  const { blocks } = recordedState(name);
  const hash = blocks.find((block) => block.height === height)?.hash as string;
  const moment = { height, hash, time: Date.parse('2026-11-21T23:59:54Z') };
  const { lines, skipped } = await takeState(
    stateNode(node),
    moment,
    subject,
    kindsOf(subject, '2026-11-21'),
  );
  return { lines: lines.map(String), skipped };
}

test.each(CHAINS)(
  'the state of %s is the same by the new methods, also if the connection breaks',
  async (name) => {
    const { server } = recordedState(name);
    const subject = paseo(SUBJECTS[name]);
    const replay = await serveNew(server as unknown as ReplayedChain);
    const rpc = new ArchiveRpc(new NodeRpc(replay.url(), { ...LIMITS, answerBytes: 2 ** 26 }));
    const expected = await taken(name, { rpc: server, block: server.block }, subject);
    expect(await taken(name, { rpc, block: server.block }, subject)).toEqual(expected);
    replay.eventsMax = 20;
    expect(await taken(name, { rpc, block: server.block }, subject)).toEqual(expected);
  },
);
