import { expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { Recording } from './decode/recorded.ts';
import type { ReplayCall } from './replay.ts';
import { ReplayedChain } from './replayed-chain.ts';
import { fetchAll, heights, LIMITS, serve } from './replaying.ts';

const name = 'coretime-westend';
const ALL = heights(1, 63);

const isMetadata = ({ method, params }: ReplayCall) =>
  method === 'state_getMetadata' || params[0] === 'Metadata_metadata_at_version';

/** A source whose node answers other metadata as often as that. */
async function withMetadata(metadata: string, times = Number.POSITIVE_INFINITY) {
  const chain = new ReplayedChain(name);
  const replay = await serve(chain);
  let left = times;
  replay.answerInstead = (call) => (isMetadata(call) && left-- > 0 ? metadata : undefined);
  return { chain, source: await NodeSource.connect(replay.url(), LIMITS) };
}

/** No metadata, but for their beginning. */
const garbage = `0x${Buffer.from('meta').toString('hex')}0e${'fefdfcfb'.repeat(1000)}`;
const ofOther = () => `0x${new Recording('asset-hub-paseo').metadata().toString('hex')}`;

test('metadata that are none fail blocks while they are answered, and no longer', async () => {
  const { chain, source } = await withMetadata(garbage, 1);
  await expect(source.block(5)).rejects.toThrow(/metadata cannot be read/);
  expect((await fetchAll(source, chain)).equal).toEqual(ALL);
});

test('metadata of another runtime are told', async () => {
  const { source } = await withMetadata(ofOther());
  await expect(source.block(5)).rejects.toThrow(
    /block 5 of 127\.0\.0\.1:\d+: the metadata are of version \d+ of the runtime, not of \d+$/,
  );
});

test('the wrong metadata of one node are not taken for those of another', async () => {
  const spoilt = await withMetadata(garbage);
  await expect(spoilt.source.block(5)).rejects.toThrow();
  const chain = new ReplayedChain(name);
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  expect((await fetchAll(source, chain)).equal).toEqual(ALL);
});
