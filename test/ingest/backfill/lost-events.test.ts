import { expect, test } from 'vitest';
import { fetchHeights } from '../../../ingest/backfill/fetch-heights.ts';
import { portions } from '../../../ingest/backfill/portions.ts';
import { madeBlock, madeExtrinsic } from '../made.ts';

const lost = (number: number) =>
  madeBlock(number, [], { extrinsics: [{ ...madeExtrinsic('timestamp.set'), events: [] }] });
const blocks = new Map([
  [5, madeBlock(5)],
  [6, lost(6)],
  [7, madeBlock(7, [madeExtrinsic('a.b', { success: 'no events at this height' })])],
  [8, madeBlock(8, [], { extrinsics: [] })],
  [9, madeBlock(9)],
]);
const source = {
  servesCompleteBlocks: false,
  block: async (number: number | string) => Buffer.from(JSON.stringify(blocks.get(Number(number)))),
  head: async () => ({ number: 9, hash: '' }),
};

test('a block that cannot be whole is loaded, to be refused with its line, and its height is asked for again', async () => {
  const fetched = fetchHeights(source, [{ from: 5, to: 9 }], 2);
  const all = [];
  for await (const portion of portions(fetched, { bytesMax: 1e9, msMax: 60_000 })) all.push(portion);
  expect(all).toHaveLength(1);
  expect(all[0]?.last).toBe(9);
  // Each of the five blocks has a line and its end.
  expect(all[0]?.lines).toHaveLength(2 * 5);
  expect(all[0]?.unserved).toEqual([
    { number: 6, reason: expect.stringMatching(/^events missing/) },
    { number: 7, reason: expect.stringMatching(/^events missing/) },
    { number: 8, reason: expect.stringMatching(/^extrinsics missing/) },
  ]);
});
