import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readStatus } from '../../aggregate/status/status.ts';
import { formatUnreadCalls } from '../../ingest/raw/unknown-wrappers.ts';
import { type ShapedExtrinsic, shapeBlock, shapeCall, shapeHash } from '../reference/shaped.ts';
import { ingestLines, openTestPipeline, type TestPipeline } from '../support/pipeline.ts';

const inner = shapeCall('system.remark', { remark: '0x' });
const propose: ShapedExtrinsic = {
  call: 'council.propose',
  args: { threshold: '3', proposal: inner },
  signer: { id: `0x${'aa'.repeat(32)}` },
};
const future: ShapedExtrinsic = { ...propose, call: 'future.all', args: { actions: [inner, inner] } };

let opened: TestPipeline;
beforeAll(async () => {
  opened = await openTestPipeline();
});
afterAll(() => opened.close());

const load = (chain: string, number: number, extrinsics: ShapedExtrinsic[], fields: object = {}) => {
  const time = `2023-05-${String(number).padStart(2, '0')}T00:00:00.000Z`;
  const block = shapeBlock({ number, time, extrinsics, ...fields });
  return ingestLines(opened.pipeline, [{ line: JSON.stringify(block), chain }]);
};
const counted = async () => {
  const { runtime, aggregator } = opened.pipeline;
  return (await readStatus(runtime, aggregator)).unknown_wrappers;
};

describe('calls inside unknown wrappers', () => {
  test('are 0 in blocks that hold none', async () => {
    await load('kusama', 1, [{ ...propose, call: 'council.vote', args: { proposal: '0x' } }]);
    expect(await counted()).toEqual({ calls: 0, wrappers: [] });
  });

  test('are counted by chain and name, once for each block', async () => {
    for (const _ of ['first', 'again']) {
      await load('kusama', 2, [propose, future]);
      await load('kusama', 3, [propose]);
      await load('polkadot', 2, [propose, { ...propose, success: false }]);
    }
    const kusama = { relay_chain: 'kusama', chain: 'kusama' };
    const polkadot = { relay_chain: 'polkadot', chain: 'polkadot' };
    expect(await counted()).toEqual({
      calls: 5,
      wrappers: [
        { ...kusama, wrapper: 'council.propose', calls: 2 },
        { ...kusama, wrapper: 'future.all', calls: 2 },
        { ...polkadot, wrapper: 'council.propose', calls: 1 },
      ],
    });
    const text =
      '5 calls inside unknown wrappers: council.propose of kusama (2), future.all of kusama (2), council.propose of polkadot (1)';
    expect(formatUnreadCalls(await counted())).toBe(text);
  });

  test('go with their block when another one takes its height, also in another month', async () => {
    const other = { hash: shapeHash(0xabc) };
    await load('kusama', 2, [propose], { ...other, finalized: true });
    expect((await counted()).calls).toBe(3);
    const june = { extrinsics: [{ call: 'timestamp.set', args: { now: '1685577600000' } }] };
    const block = shapeBlock({ number: 3, ...june, hash: shapeHash(0xdef) });
    await ingestLines(opened.pipeline, [{ line: JSON.stringify(block), chain: 'kusama' }]);
    expect((await counted()).wrappers.map(({ chain, calls }) => `${chain} ${calls}`)).toEqual([
      'kusama 1',
      'polkadot 1',
    ]);
  });
});
