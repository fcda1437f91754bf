import { expect, test } from 'vitest';
import { NodeSource } from '../../../ingest/node/node-source.ts';
import { addType, changedMetadata, tupleStruct } from './decode/made-metadata.ts';
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
    /block 5 of 127\.0\.0\.1:\d+: the metadata belongs to runtime version \d+, not \d+$/,
  );
});

test('the wrong metadata of one node are not taken for those of another', async () => {
  const spoilt = await withMetadata(garbage);
  await expect(spoilt.source.block(5)).rejects.toThrow();
  const chain = new ReplayedChain(name);
  const source = await NodeSource.connect((await serve(chain)).url(), LIMITS);
  expect((await fetchAll(source, chain)).equal).toEqual(ALL);
});

/** The account in `System.Remarked`, which only block 62 has, is a pair of pairs, so deep that it has 2^50 parts of no bytes. */
function endless(): string {
  const metadata = changedMetadata(new Recording(name).metadata(), (made) => {
    let type = addType(made, tupleStruct());
    for (let depth = 0; depth < 50; depth++) type = addType(made, tupleStruct(type, type));
    const events = made.pallets.find((pallet) => pallet.name === 'System')?.events;
    const { def } = made.lookup[events as number] ?? {};
    const [account] =
      (def?.tag === 'variant' && def.value.find((one) => one.name === 'Remarked')?.fields) || [];
    if (account === undefined) throw new Error('the runtime has no System.Remarked');
    account.type = type;
  });
  return `0x${metadata.toString('hex')}`;
}

test('a block without an end is left out after some seconds or some memory, and the others are served', async () => {
  const { chain, source } = await withMetadata(endless());
  const began = performance.now();
  const { equal, others } = await fetchAll(source, chain);
  expect(equal).toEqual(ALL.filter((number) => number !== 62));
  expect([...others]).toEqual([
    [
      62,
      expect.stringMatching(
        /^block 62 of 127\.0\.0\.1:\d+: the decoder thread ended: (?:decoding took more than 5 s|.*memory limit.*)$/,
      ),
    ],
  ]);
  expect(performance.now() - began).toBeLessThan(60_000);
});
