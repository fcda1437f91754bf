import { expect, it } from 'vitest';
import { BestBlocks } from '../../../ingest/follow/best-blocks.ts';
import type { Sidecar } from '../../../ingest/sources/sidecar.ts';

it('gives a chain whose finality stalls in pieces, and again what was not read to its end', async () => {
  const padding = 'x'.repeat(3 * 2 ** 20);
  const block = (height: number) =>
    Buffer.from(
      JSON.stringify({
        number: String(height),
        hash: `0x${height}`,
        parentHash: `0x${height - 1}`,
        finalized: true,
        padding,
      }),
    );
  const sidecar = {
    head: async () => ({ number: 20, hash: '0x20' }),
    block: async (hash: string) => block(Number(hash.slice(2))),
  } as unknown as Sidecar;
  const best = new BestBlocks(sidecar, { relay_chain: 'polkadot', name: 'polkadot' });
  const given = (lines: readonly Buffer[]) =>
    lines
      .filter(({ length }) => length > 1)
      .map((line) => JSON.parse(line.toString()) as { number: string; finalized: boolean });

  // A reader that stops after the first piece.
  for await (const lines of best.changes(10)) {
    expect(given(lines).map(({ number }) => Number(number))).toEqual([15, 16, 17, 18, 19, 20]);
    break;
  }
  const pieces: number[][] = [];
  for await (const lines of best.changes(10)) {
    const blocks = given(lines);
    expect(blocks.some(({ finalized }) => finalized)).toBe(false);
    pieces.push(blocks.map(({ number }) => Number(number)));
  }
  expect(pieces).toEqual([
    [15, 16, 17, 18, 19, 20],
    [11, 12, 13, 14],
  ]);
  for await (const lines of best.changes(10)) expect(lines).toEqual([]);
});

it('gives up what it began to give of a branch that another one replaces', async () => {
  const padding = 'x'.repeat(3 * 2 ** 20);
  let branch = 'a';
  let number = 20;
  const sidecar = {
    head: async () => ({ number, hash: `${branch}${number}` }),
    block: async (hash: string) => {
      const height = Number(hash.slice(1));
      return Buffer.from(
        JSON.stringify({ number: `${height}`, hash, parentHash: `${branch}${height - 1}`, padding }),
      );
    },
  } as unknown as Sidecar;
  const best = new BestBlocks(sidecar, { relay_chain: 'polkadot', name: 'polkadot' });
  // The reader stops after the piece that has the six highest blocks.
  for await (const _lines of best.changes(10)) break;
  branch = 'b';
  number = 12;
  const texts: string[] = [];
  for await (const lines of best.changes(10))
    texts.push(...lines.map((line) => line.toString('utf8', 0, 200)));
  const deleted = texts.filter((text) => text.includes('"is_deleted":1'));
  const heights = deleted.map((text) => /"number":"(\d+)"/.exec(text)?.[1]);
  expect(heights.sort()).toEqual(['15', '16', '17', '18', '19', '20']);
});

it('gives up the blocks above a shorter branch that became final', async () => {
  const block = (hash: string) => {
    const height = Number(hash.slice(1));
    return Buffer.from(JSON.stringify({ number: `${height}`, hash, parentHash: `${hash[0]}${height - 1}` }));
  };
  let head = { number: 13, hash: 'a13' };
  const sidecar = { head: async () => head, block: async (hash: string) => block(hash) };
  const best = new BestBlocks(sidecar as unknown as Sidecar, { relay_chain: 'polkadot', name: 'polkadot' });
  const given = async (finalized: number) => {
    const texts: string[] = [];
    for await (const lines of best.changes(finalized)) texts.push(...lines.map(String));
    return texts.filter((text) => text !== '\n').map((text) => JSON.parse(text));
  };
  expect((await given(10)).map(({ hash }) => hash)).toEqual(['a11', 'a12', 'a13']);
  // By a node that lags, and by one that has the other branch.
  head = { number: 12, hash: 'a12' };
  expect(await given(12)).toEqual([]);
  head = { number: 12, hash: 'b12' };
  expect(await given(12)).toEqual([expect.objectContaining({ is_deleted: 1 })]);
});
