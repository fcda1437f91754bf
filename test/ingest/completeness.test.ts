import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sql } from '../../infra/sql.ts';
import { blocks, extrinsics } from '../../ingest/raw/tables.ts';
import { heightsOf, type Ingesting, openIngesting, rowsOf } from './ingesting.ts';
import { ALICE, hash, madeBlock, madeEvent, madeExtrinsic } from './made.ts';

let ingesting: Ingesting;
beforeAll(async () => {
  ingesting = await openIngesting();
});
afterAll(() => ingesting.close());

const take = async (chain: string, lines: readonly (object | string)[]) => {
  const name = `${chain}.ndjson`;
  await ingesting.take(name, lines);
  const letters = await ingesting.letters(name);
  return letters.map(({ line, reason }) => `${line} ${reason.split(':')[0]}`);
};

const remark = (more: object = {}) =>
  madeExtrinsic('system.remark', { signature: { signer: { id: ALICE } }, ...more });
const withoutEvents = (block: object) => ({
  ...block,
  extrinsics: (block as { extrinsics: object[] }).extrinsics.map((extrinsic) => ({
    ...extrinsic,
    events: [],
  })),
});

describe('a block that cannot be whole is refused, and its height stays missing', () => {
  test('also beside blocks that are whole, in other layouts, and as a later or final version', async () => {
    const whole = madeBlock(10, [remark()]);
    const letters = await take('acala', [
      whole,
      withoutEvents(madeBlock(11, [remark()])),
      madeBlock(12, [remark({ success: 'false' })]),
      madeBlock(13, [remark({ success: '2026-01-01' })]),
      madeBlock(14, [], { extrinsics: [] }),
      { ...withoutEvents(whole), finalized: true, hash: hash('ff') },
      { finalized: true, ...madeBlock(15, [], { extrinsics: [], number: 15 }) },
      madeBlock(16, [remark({ events: [madeEvent('contracts.ExtrinsicSuccess', {})] })]),
      madeBlock(17, [], { extrinsics: [remark({ events: [] })].map((one) => ({ ...one, events: [{}] })) }),
      madeBlock(18, [remark()]),
    ]);
    expect(letters).toEqual([
      '2 events missing',
      '3 events missing',
      '4 events missing',
      '5 extrinsics missing',
      '6 events missing',
      '7 extrinsics missing',
      '9 events missing',
    ]);
    expect(await heightsOf(ingesting, 'acala')).toEqual([10, 16, 18]);
    const [kept] = await rowsOf<{ hash: string }>(
      ingesting,
      sql`SELECT hash FROM ${blocks} FINAL WHERE chain = 'acala' AND number = 10`,
    );
    expect(kept?.hash).toBe(hash(10));
  });

  test('the first block of a chain has no extrinsics, and what is removed needs none', async () => {
    const first = madeBlock(0, [], { extrinsics: [] });
    const removed = { schema: 'block/1', chain: 'darwinia', is_deleted: true, payload: { number: '5' } };
    expect(await take('darwinia', [first, madeBlock(5), removed])).toEqual([]);
    expect(await heightsOf(ingesting, 'darwinia')).toEqual([0]);
  });

  test.each([
    ['P01', 'events missing'],
    ['P01b', 'events missing'],
    ['P02', 'extrinsics missing'],
  ])('of the recorded kind %s', async (file, reason) => {
    const text = readFileSync(new URL(`../fixtures/cases/${file}.ndjson`, import.meta.url), 'utf8');
    const name = `${file}.ndjson`;
    await ingesting.takeFile({ name, chain: 'polkadot' }, Buffer.from(text));
    const letters = await ingesting.letters(name);
    expect(letters.map(({ reason }) => reason.split(':')[0])).toContain(reason);
  });
});

test('extrinsics with no outcome, or several, are neither successful nor failed; their block is counted', async () => {
  const outcome = (name: string) => madeEvent(`system.${name}`, {});
  const none = { ...remark(), events: [madeEvent('balances.Deposit', ALICE, '1')] };
  const more = [
    none,
    remark({ events: [outcome('ExtrinsicSuccess'), outcome('ExtrinsicSuccess')] }),
    remark({ events: [outcome('ExtrinsicFailed'), outcome('ExtrinsicSuccess')], success: false }),
    remark({ events: [outcome('ExtrinsicFailed')], success: true }),
    remark({ events: [outcome('ExtrinsicSuccess')] }),
  ];
  expect(await take('astar', [madeBlock(20, more), madeBlock(21)])).toEqual([]);
  const rows = await rowsOf<{ success: number | null; outcome: number | null }>(
    ingesting,
    sql`SELECT success, outcome FROM ${extrinsics} FINAL WHERE chain = 'astar' AND number = 20
      ORDER BY extrinsic_index`,
  );
  expect(rows.map(({ success, outcome }) => [success, outcome])).toEqual([
    [1, 1],
    [null, null],
    [null, null],
    [null, null],
    [1, 0],
    [1, 1],
  ]);
  const counted = await rowsOf<{ unclear: number[] }>(
    ingesting,
    sql`SELECT groupArray(unclear_extrinsics) AS unclear FROM ${blocks} FINAL WHERE chain = 'astar'`,
  );
  expect(counted[0]?.unclear.sort()).toEqual([0, 3]);
});

describe('the first blocks of another network', () => {
  const first = (of: string) => madeBlock(0, [], { extrinsics: [], hash: hash(of) });
  const child = (of: string) => madeBlock(1, [], { parentHash: hash(of).toUpperCase().replace('X', 'x') });

  test('are refused by what was read first, where no first block is known', async () => {
    expect(await take('hyperbridge', [first('a1'), child('a1'), child('b2'), first('b2')])).toEqual([
      '3 another genesis',
      '4 another genesis',
    ]);
    await ingesting.take('later.ndjson', [{ schema: 'block/1', chain: 'hyperbridge', payload: first('c3') }]);
    expect((await ingesting.letters('later.ndjson'))[0]?.reason).toMatch(/^another genesis/);
    expect(await heightsOf(ingesting, 'hyperbridge')).toEqual([0, 1]);
  });

  test('a block that is refused for another reason decides nothing', async () => {
    const lost = withoutEvents(child('a1'));
    expect(await take('phala', [lost, child('b2'), madeBlock(2), child('a1')])).toEqual([
      '1 events missing',
      '4 another genesis',
    ]);
  });

  test('are refused by the registry, which names the chain that begins so', async () => {
    const kusama = '0xb0a8d493285c2df73290dfb7e61f870f17b41801197a149ca93654499ea3dafe';
    const of = (chain: string) => madeBlock(1, [], { parentHash: kusama, hash: hash(chain) });
    expect(await take('polkadot', [of('1'), child('a1')])).toEqual([
      '1 another genesis',
      '2 another genesis',
    ]);
    expect((await ingesting.letters('polkadot.ndjson'))[0]?.reason).toMatch(/--chain kusama/);
    expect(await take('kusama', [of('2')])).toEqual([]);
    expect(await take('peaq', [of('3')])).toEqual(['1 another genesis']);
  });
});
