import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { applySchema } from '../../../infra/clickhouse/schema.ts';
import type { Store } from '../../../infra/ports.ts';
import { sql } from '../../../infra/sql.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { decoders } from '../../../ingest/raw/decoders.ts';
import { areNew, type ChainHeight, chunkHeights, hasNoOtherVersions } from '../../../ingest/raw/heights.ts';
import { blocks } from '../../../ingest/raw/tables.ts';
import { packBlockRank } from '../../reference/ordering.ts';
import { openStore } from '../../support/open-store.ts';

const SEEDS = Number(process.env.SEEDS ?? 12);

let store: Store;
let close: () => Promise<void>;
beforeAll(async () => {
  ({ store, close } = await openStore());
  await applySchema(store, { tables: [blocks, decoders], derived: [], views: [] });
});
beforeEach(() => store.run(sql`TRUNCATE TABLE ${blocks}`));
afterAll(() => close());

const head = (number: number, chain = 'a'): ChainHeight => ({
  relay_chain: 'polkadot',
  chain,
  number: String(number),
});

/** Stores a version of each of these heights; their sequences rise from the first. */
const load = (heads: readonly ChainHeight[], first: bigint, finalized = true) =>
  store.insert(
    blocks,
    heads.map(({ relay_chain, chain, number }, i) => ({
      relay_chain,
      chain,
      number,
      time: '2024-01-20 10:30:00.000',
      rank: String(packBlockRank({ finalized, version: 5n, sequence: first + BigInt(i) })),
    })),
  );

async function isNew(heads: readonly ChainHeight[]): Promise<boolean> {
  const [chains = []] = chunkHeights(heads);
  return areNew(store, chains);
}

test('heights are new where nothing is stored of them, between them or of the child of the highest', async () => {
  await load([head(10), head(20), head(5000)], 1n);
  expect(await isNew([head(1), head(8)])).toBe(true);
  expect(await isNew([head(1), head(9)])).toBe(false);
  expect(await isNew([head(1), head(11)])).toBe(false);
  expect(await isNew([head(1), head(10)])).toBe(false);
  expect(await isNew([head(10, 'b')])).toBe(true);
  // More heights than a statement lists.
  expect(await isNew([head(4000), head(4999)])).toBe(false);
  expect(await isNew([head(4000), head(6000)])).toBe(false);
  expect(await isNew([head(4000), head(5000)])).toBe(false);
});

describe('a load is alone', () => {
  const own = [head(10), head(11), head(12)];
  const numbers = { first: 100n, last: 102n };

  test.each([
    ['with nothing else', [], true],
    ['beside its parent', [head(9)], true],
    ['beside its child', [head(13)], false],
    ['beside another version of a height', [head(11)], false],
    ['beside the heights of another chain', [head(11, 'b'), head(13, 'b')], true],
  ])('%s', async (_which, others, expected) => {
    await load(own, numbers.first);
    if (others.length > 0) await load(others, 200n);
    expect(await hasNoOtherVersions(store, own, numbers)).toBe(expected);
  });

  test('not when a version of another load has taken the place of its own', async () => {
    await load(own, numbers.first, false);
    await load([head(11)], 200n);
    await store.run(sql`OPTIMIZE TABLE ${blocks} FINAL`);
    expect(await hasNoOtherVersions(store, own, numbers)).toBe(false);
  });
});

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))('as all versions tell, seed %i', async (seed) => {
  const random = new Random(seed);
  // Close together, or too far apart for a list.
  const highest = random.pick([12, 3000]);
  const some = (count: number) => {
    const heads = Array.from({ length: count }, () =>
      head(random.whole(1, highest), random.pick(['a', 'b'])),
    );
    return [...new Map(heads.map((one) => [`${one.chain} ${one.number}`, one])).values()];
  };
  const loads = Array.from({ length: 4 }, (_, i) => ({
    heads: some(random.whole(1, 6)),
    first: BigInt(i + 1) * 100n,
  }));
  for (const [i, { heads, first }] of loads.entries()) {
    const before = loads.slice(0, i).flatMap((one) => one.heads);
    const isAmong = (number: number, chain: string, among: readonly ChainHeight[]) =>
      among.some((one) => one.chain === chain && Number(one.number) === number);
    const areAround = ['a', 'b'].some((chain) => {
      const numbers = heads.filter((one) => one.chain === chain).map(({ number }) => Number(number));
      return before.some(
        (one) =>
          one.chain === chain &&
          Number(one.number) >= Math.min(...numbers) &&
          Number(one.number) <= Math.max(...numbers) + 1,
      );
    });
    expect(await isNew(heads)).toBe(!areAround);
    await load(heads, first);
    const hasOthers = heads.some(
      ({ number, chain }) =>
        isAmong(Number(number), chain, before) || isAmong(Number(number) + 1, chain, before),
    );
    const last = first + BigInt(heads.length - 1);
    expect(await hasNoOtherVersions(store, heads, { first, last })).toBe(!hasOthers);
  }
});
