import { expect, test } from 'vitest';
import { ClosedDays } from '../../../ingest/load/closed-days.ts';
import { recordRetention } from '../../../ingest/raw/retention.ts';
import { openIngesting } from '../ingesting.ts';
import { madeBlock, madeExtrinsic } from '../made.ts';

const BEFORE = '2026-01-02';
const OLD = Date.UTC(2026, 0, 1, 12);
const NEW = Date.UTC(2026, 0, 2, 12);

const blockAt = (number: number, now: number) =>
  madeBlock(number, [], {
    extrinsics: [madeExtrinsic('timestamp.set', { args: { now: String(now) } })],
  });
const arrived = (number: number, block: object) => ({
  head: {
    relay_chain: 'polkadot',
    chain: 'polkadot',
    number: String(number),
    source: 'a',
    origin: 'a',
    line: number,
  },
  original: Buffer.from(JSON.stringify(block)),
});

test('a closed day keeps the heights that it holds: one block of a wrong time does not close those below it', async () => {
  const ingesting = await openIngesting();
  const { store } = ingesting.pipeline.runtime;
  // The second stands at a height that the chain reaches much later.
  await ingesting.take('polkadot.ndjson', [blockAt(10, OLD), blockAt(5000, OLD), blockAt(20, NEW)]);
  await recordRetention(store, 'closed', { before: BEFORE, at: 1 });
  const { open, refused } = await new ClosedDays(store).split([
    arrived(10, blockAt(10, NEW)),
    arrived(11, blockAt(11, NEW)),
    arrived(12, blockAt(12, OLD)),
    arrived(20, blockAt(20, NEW)),
    arrived(4999, madeBlock(4999, [], { extrinsics: [] })),
    arrived(5000, blockAt(5000, NEW)),
    arrived(5001, blockAt(5001, NEW)),
  ]);
  expect(open.map(({ head }) => head.line)).toEqual([11, 20, 4999, 5001]);
  expect(refused.map(({ line }) => line)).toEqual([10, 12, 5000]);
  await ingesting.close();
});
