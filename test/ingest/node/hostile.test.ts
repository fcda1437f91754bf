import { expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { EVENTS } from './decode/recorded.ts';
import type { NodeReplay, ReplayCall } from './replay.ts';
import { ReplayError, ReplayedChain } from './replayed-chain.ts';
import { fetchAll, heights, LIMITS, serve } from './replaying.ts';

const name = 'coretime-westend';
const ALL = heights(1, 63);
const GENESIS = `0x${'00'.repeat(32)}`;

async function spoilt(spoil: (replay: NodeReplay, chain: ReplayedChain) => NodeReplay['answerInstead']) {
  const chain = new ReplayedChain(name);
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  replay.answerInstead = spoil(replay, chain);
  return fetchAll(source, chain);
}

const isList = ({ method, params }: ReplayCall) =>
  method === 'chain_getBlockHash' && Array.isArray(params[0]);

test('a hash of another height gives no block', async () => {
  const fetched = spoilt((_, chain) => (call) => {
    if (!isList(call)) return undefined;
    const hashOf = (number: number) => (number === 0 ? GENESIS : (chain.at(number + 1)?.hash ?? null));
    return (call.params[0] as number[]).map(hashOf);
  });
  await expect(fetched).rejects.toThrow(/returned block 2 in place of 1$/);
});

test('what is no hash costs its height and the one above it', async () => {
  const { equal, others } = await spoilt((_, chain) => (call) => {
    if (!isList(call)) return undefined;
    const hashOf = (number: number) => (number === 0 ? GENESIS : (chain.at(number)?.hash ?? null));
    return (call.params[0] as number[]).map((number) => (number === 30 ? 7 : hashOf(number)));
  });
  expect([...others.keys()]).toEqual([30, 31]);
  expect(equal).toHaveLength(ALL.length - 2);
});

test('hashes of another number than asked for are asked for one by one', async () => {
  const { equal } = await spoilt(
    (_, chain) => (call) =>
      isList(call)
        ? (call.params[0] as number[]).slice(1).map((number) => chain.at(number)?.hash ?? null)
        : undefined,
  );
  expect(equal).toEqual(ALL);
});

test('a header of another block makes nothing final', async () => {
  const fetched = spoilt((_, chain) => {
    [chain.finalized, chain.best] = [30, 63];
    return ({ method }) => (method === 'chain_getHeader' ? chain.at(63)?.header : undefined);
  });
  await expect(fetched).rejects.toThrow(/returned the header of another block in place of 0x/);
});

test('another network behind the same address gives no block', async () => {
  await expect(
    spoilt(() => (call) => {
      if (!isList(call)) return undefined;
      return (call.params[0] as number[]).map(() => `0x${'12'.repeat(32)}`);
    }),
  ).rejects.toThrow(/serves another network now, with the genesis block 0x1212/);
});

test('blocks below a final one are final, also by a node that lags behind it', async () => {
  const chain = new ReplayedChain(name);
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  await source.head();
  chain.finalized = 20;
  const lines = await Promise.all([10, 30, 63].map((number) => source.block(number)));
  expect(lines.map(String)).toEqual([10, 30, 63].map((number) => chain.at(number)?.line));
});

test('a node that does not know the final head of another serves blocks all the same', async () => {
  const chain = new ReplayedChain(name);
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  chain.finalized = 20;
  await source.head();
  replay.answerInstead = ({ method }) => (method === 'chain_getHeader' ? null : undefined);
  const lines = await Promise.all([20, 21].map((number) => source.block(number)));
  expect(lines.map((line) => JSON.parse(line.toString()).finalized)).toEqual([true, false]);
});

test.each([
  [
    'versions of metadata that are cut',
    (call: ReplayCall) => call.params[0] === 'Metadata_metadata_versions',
    '0xfc',
  ],
  ['events that are no hex', (call: ReplayCall) => call.params[0] === EVENTS, '0x0'],
  [
    'extrinsics that are numbers',
    (call: ReplayCall) => call.method === 'chain_getBlock',
    { block: { extrinsics: [1] } },
  ],
  ['a block of nothing', (call: ReplayCall) => call.method === 'chain_getBlock', []],
  ['a version that is a text', (call: ReplayCall) => call.method === 'state_getRuntimeVersion', 'v1'],
  ['hashes of nothing', isList, [[]]],
])('%s fail the source, and not the process', async (_what, isSpoilt, answer) => {
  const fetched = await spoilt(() => (call) => (isSpoilt(call) ? answer : undefined)).catch((error) => error);
  if (fetched instanceof Error) expect(fetched.name).toBe('ProductError');
  else expect(fetched.equal.length + fetched.others.size).toBe(ALL.length);
});

test('a fee of no bytes costs its block, and none beside it', async () => {
  const chain = new ReplayedChain('asset-hub-paseo');
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  replay.answerInstead = ({ params }) =>
    params[0] === 'TransactionPaymentApi_query_info' ? '0x' : undefined;
  const { equal, others } = await fetchAll(source, chain);
  expect([...others.keys()]).toEqual([19]);
  expect(others.get(19)).toMatch(/returned no fee for block 19$/);
  expect(equal).toHaveLength(chain.blocks.length - 1);
});

test('a fee that was not answered is no fee that nobody can tell', async () => {
  const chain = new ReplayedChain('asset-hub-paseo');
  const replay = await serve(chain);
  const source = await NodeSource.connect(replay.url(), LIMITS);
  replay.answerInstead = ({ params }) => {
    if (params[0] === 'TransactionPaymentApi_query_info') throw new ReplayError(-32029, 'Too many requests');
    return undefined;
  };
  await expect(source.block(19)).rejects.toThrow('Too many requests');
});
