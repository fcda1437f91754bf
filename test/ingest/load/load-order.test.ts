import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { raw, sql } from '../../../infra/sql.ts';
import type { Table } from '../../../infra/table.ts';
import { Random } from '../../../ingest/demo/random.ts';
import { canonicalBlocks } from '../../../ingest/raw/canonical.ts';
import { ANY_PALLET, blocks, dirtyDays, dirtyHours, events, extrinsics } from '../../../ingest/raw/tables.ts';
import { canonicalRows, heightsOf, type Ingesting, openIngesting } from '../ingesting.ts';
import { hash, madeBlock, madeEvent, madeExtrinsic, NOON } from '../made.ts';

const SEEDS = Number(process.env.SEEDS ?? 1);
const CHAIN = 'astar';
/** Its blocks are taken in one by one. */
const OTHER_CHAIN = 'hydration';
/** Each block is a batch of its own, too large to share one. */
const LONG = 'x'.repeat(2 ** 20);
const large = (height: number, more: object = {}) =>
  madeBlock(height, [madeExtrinsic('a.b', { events: [madeEvent('a.B', LONG)] })], more);

let ingesting: Ingesting;
let steps: string[];
/** Called before the batch of a height is committed. */
let beforeCommit: (height: string) => Promise<void> | void;

beforeEach(async () => {
  ingesting = await openIngesting({ BATCH_BYTES: String(2 ** 20) });
  steps = [];
  beforeCommit = () => {};
  const { store } = ingesting.pipeline.runtime;
  const stage = store.stage.bind(store);
  vi.spyOn(store, 'stage').mockImplementation(async (table, lines) => {
    const [, height = ''] = /"number":"(\d+)"/.exec(Buffer.concat(lines.flat()).toString('latin1')) ?? [];
    const batch = await stage(table, lines);
    steps.push(`${height} staged`);
    const commit = batch.commit.bind(batch);
    batch.commit = async (sequence) => {
      await beforeCommit(height);
      await commit(sequence);
      steps.push(`${height} committed`);
    };
    return batch;
  });
});
afterEach(() => ingesting.close());

const take = (...taken: object[]) => ingesting.take(`${CHAIN}.ndjson`, taken);
const hashes = async () =>
  (await canonicalRows(ingesting, blocks, CHAIN)).map(({ number, hash }) => [number, hash]);

test('a batch is staged when the one before it is committed', async () => {
  await take(large(1), large(2), large(3));
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 2, 3]);
  expect(steps).toEqual([1, 2, 3].flatMap((height) => [`${height} staged`, `${height} committed`]));
});

test.each([
  ['a height of the one before it', 5, 5, [[5, hash('b')]]],
  [
    'the parent of a height of the one before it',
    6,
    5,
    [
      [5, hash('b')],
      [6, hash(6)],
    ],
  ],
])('a batch that holds %s is staged when that is committed', async (_which, first, second, expected) => {
  await take(large(first), large(second, { hash: hash('b') }));
  expect(steps).toEqual([`${first} staged`, `${first} committed`, `${second} staged`, `${second} committed`]);
  expect(await hashes()).toEqual(expected);
});

/** Fails so many commits. */
function failCommits(failures: number): void {
  const { store } = ingesting.pipeline.runtime;
  let left = failures;
  const fail = () => {
    if (left-- > 0) throw new Error('the store is away');
  };
  beforeCommit = fail;
  const unfinished = store.unfinished.bind(store);
  vi.spyOn(store, 'unfinished').mockImplementation(async () =>
    (await unfinished()).map((batch) => ({
      ...batch,
      commit: async (sequence) => {
        fail();
        await batch.commit(sequence);
      },
    })),
  );
}

test('a batch is loaded whose commit failed, and before the next one', async () => {
  failCommits(1);
  await expect(take(large(1), large(2))).rejects.toThrow('the store is away');
  await ingesting.pipeline.waitUntilLoaded();
  expect(steps).toEqual(['1 staged', '2 staged', '2 committed']);
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 2]);
});

test('a batch that could not be begun is not kept, as its publisher is told', async () => {
  failCommits(2);
  await expect(take(large(1), large(2))).rejects.toThrow('the store is away');
  await ingesting.pipeline.waitUntilLoaded();
  expect(await heightsOf(ingesting, CHAIN)).toEqual([]);
  await take(large(3));
  expect(await heightsOf(ingesting, CHAIN)).toEqual([1, 3]);
  // The next start would load what is left over newer blocks.
  expect(readdirSync(join(ingesting.pipeline.config.DATA_DIR, 'spool'))).toEqual([]);
});

test('a batch loads after one of its heights that failed before', async () => {
  await take(large(5));
  failCommits(1);
  await expect(take(large(5, { hash: hash('b') }))).rejects.toThrow('the store is away');
  await take(large(5));
  expect((await hashes())[0]).toEqual([5, hash(5)]);
});

test('blocks that are stored already are left out of a batch', async () => {
  await take(large(1), large(2), large(3));
  steps.length = 0;
  await take(large(1), large(2, { hash: hash('c') }), large(3));
  expect(steps).toEqual(['2 staged', '2 committed']);
  expect((await hashes())[1]).toEqual([2, hash('c')]);
});

const HOUR_MS = 3_600_000;
const TIMES = [0, 1, 30, 45 * 24].map((hours) => NOON + hours * HOUR_MS);

interface Version {
  readonly height: number;
  readonly finalized: boolean;
  readonly time: number;
  readonly name: string;
  readonly block: object;
}

/** Versions of few heights, in any order: some come again, some are of another hour or month. */
function someVersions(random: Random): Version[] {
  const versions = Array.from({ length: random.whole(2, 9) }, (): Version => {
    const [height, finalized] = [random.whole(10, 16), random.chance(0.7)];
    const time = random.pick(TIMES) + height * 6000;
    const name = hash(`${random.pick(['a', 'b', 'c'])}${height}`);
    const block = JSON.stringify(large(height, { hash: name, finalized }));
    return {
      height,
      finalized,
      time,
      name,
      block: JSON.parse(block.replace(/"now":"\d+"/, `"now":"${time}"`)),
    };
  });
  return [...versions, ...versions.filter(() => random.chance(0.2))];
}

/** The hours from which blocks are taken, of heights that hold one each. */
function takenHours(held: Map<number, Version>, versions: readonly Version[]): string[] {
  return versions.flatMap((version) => {
    const before = held.get(version.height);
    const isSame = version.name === before?.name && version.time === before.time;
    if (before?.finalized && (!version.finalized || isSame)) return [];
    held.set(version.height, version);
    return before ? [new Date(Math.floor(before.time / HOUR_MS) * HOUR_MS).toISOString()] : [];
  });
}

/** What a chain's blocks have left in the store, without the numbers of their loads. */
const leftBy = async (chain: string) => {
  const { store } = ingesting.pipeline.runtime;
  const canonical = canonicalBlocks({ relays: ['polkadot'], from: '2020-01-01', until: '2030-01-01' });
  const counted = (table: Table) =>
    store.rows(sql`SELECT number, count() AS rows FROM ${table} WHERE chain = ${chain}
      AND rank IN (SELECT rank FROM ${canonical}) GROUP BY number ORDER BY number`);
  const marked = (columns: string, table: Table, isTaken: 0 | 1) =>
    store.rows<{ hour?: string }>(sql`SELECT DISTINCT ${raw(columns)} FROM ${table}
      WHERE chain = ${chain} AND (pallet = ${ANY_PALLET}) = ${isTaken} ORDER BY ALL`);
  return {
    canonical: {
      blocks: await store.rows(
        sql`SELECT number, hash, time, finalized FROM ${canonical} WHERE chain = ${chain} ORDER BY number`,
      ),
      extrinsics: await counted(extrinsics),
      events: await counted(events),
    },
    days: await marked('stream, pallet, day', dirtyDays, 0),
    hours: await marked('pallet, hour', dirtyHours, 0),
    taken: (await marked('hour', dirtyHours, 1)).map(({ hour }) => hour),
  };
};

test.each(Array.from({ length: SEEDS }, (_, i) => i + 1))(
  'large batches leave what batches of one block leave, seed %i',
  async (seed) => {
    const random = new Random(seed);
    const held = new Map<number, Version>();
    const taken = new Set<string>();
    for (let round = 0; round < 3; round++) {
      const versions = someVersions(random);
      for (const hour of takenHours(held, versions)) taken.add(hour);
      await take(...versions.map(({ block }) => block));
      for (const { block } of versions) await ingesting.take(`${OTHER_CHAIN}.ndjson`, [block]);
      // Of versions that never held a height it depends on merges whether their hours are marked too.
      const [{ taken: early, ...left }, { taken: oneByOne, ...expected }] = [
        await leftBy(CHAIN),
        await leftBy(OTHER_CHAIN),
      ];
      expect(left).toEqual(expected);
      expect(early).toEqual(expect.arrayContaining([...taken]));
      expect(oneByOne).toEqual(expect.arrayContaining([...taken]));
    }
  },
);
