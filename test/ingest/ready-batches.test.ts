import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { blocks } from '../../ingest/raw/tables.ts';
import { gate } from '../infra/ports/opened.ts';
import { canonicalRows, heightsOf, type Ingesting, openIngesting } from './ingesting.ts';
import { hash, madeBlock, madeEvent, madeExtrinsic } from './made.ts';

const CHAIN = 'astar';
/** Each block is a batch of its own, too large to share one. */
const LONG = 'x'.repeat(2 ** 20);
const large = (height: number, more: object = {}) =>
  madeBlock(height, [madeExtrinsic('a.b', { events: [madeEvent('a.B', LONG)] })], more);

let ingesting: Ingesting;
let steps: string[];
/** Called before a batch is committed, with its number. */
let beforeCommit: (batch: number) => Promise<void> | void;

beforeEach(async () => {
  ingesting = await openIngesting({ BATCH_BYTES: String(2 ** 20) });
  steps = [];
  beforeCommit = () => {};
  const { store } = ingesting.pipeline.runtime;
  const stage = store.stage.bind(store);
  let batches = 0;
  vi.spyOn(store, 'stage').mockImplementation(async (table, lines) => {
    const number = ++batches;
    const batch = await stage(table, lines);
    steps.push(`${number} staged`);
    const commit = batch.commit.bind(batch);
    batch.commit = async (sequence) => {
      await beforeCommit(number);
      await commit(sequence);
      steps.push(`${number} committed`);
    };
    return batch;
  });
});
afterEach(() => ingesting.close());

const take = (...taken: object[]) => ingesting.take(`${CHAIN}.ndjson`, taken);
const hashes = async () =>
  (await canonicalRows(ingesting, blocks, CHAIN)).map(({ number, hash }) => [number, hash]);

test('a batch is staged while the one before it is committed', async () => {
  const { opened, open } = gate();
  beforeCommit = (batch) => (batch === 1 ? opened : undefined);
  const taken = take(large(1), large(2), large(3));
  try {
    await vi.waitUntil(() => steps.includes('2 staged'));
    expect(steps.toSorted()).toEqual(['1 staged', '2 staged']);
  } finally {
    open();
    await taken;
  }
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 2, 3]);
  expect(steps.filter((step) => step.endsWith('committed'))).toEqual([
    '1 committed',
    '2 committed',
    '3 committed',
  ]);
});

test.each([
  ['a height of the one before it', [large(5), large(5, { hash: hash('b') })], [[5, hash('b')]]],
  [
    'the parent of a height of the one before it',
    [large(6), large(5)],
    [
      [5, hash('5')],
      [6, hash('6')],
    ],
  ],
])('a batch that holds %s is staged when that is committed', async (_which, taken, expected) => {
  await take(...taken);
  expect(steps).toEqual(['1 staged', '1 committed', '2 staged', '2 committed']);
  expect(await hashes()).toEqual(
    expected.map(([number, of]) => [number, expect.stringMatching(String(of).slice(0, 10))]),
  );
});

test('a batch is loaded whose commit failed while the next was staged, and before that one', async () => {
  let failures = 1;
  beforeCommit = (batch) => {
    if (batch === 1 && failures-- > 0) throw new Error('the store is away');
  };
  await expect(take(large(1), large(2))).rejects.toThrow('the store is away');
  await ingesting.pipeline.waitUntilLoaded();
  expect(steps).toEqual(['1 staged', '2 staged', '3 staged', '3 committed', '2 committed']);
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 2]);
});

test('a batch is kept that was staged and could not be begun', async () => {
  let failures = 2;
  beforeCommit = () => {
    if (failures-- > 0) throw new Error('the store is away');
  };
  await expect(take(large(1), large(2))).rejects.toThrow('the store is away');
  await ingesting.pipeline.waitUntilLoaded().catch(() => undefined);
  expect(await heightsOf(ingesting, CHAIN)).toEqual([]);
  await take(large(3));
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 2, 3]);
});

test('blocks that are stored already are left out of a batch that is staged early', async () => {
  await take(large(1), large(2), large(3));
  steps.length = 0;
  await take(large(1), large(2, { hash: hash('c') }), large(3));
  expect(steps).toEqual(['4 staged', '4 committed']);
  expect((await hashes())[1]).toEqual([2, hash('c')]);
});
