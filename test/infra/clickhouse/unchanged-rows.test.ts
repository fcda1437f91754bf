import { expect, test } from 'vitest';
import { readHeights } from '../../../aggregate/status/heights.ts';
import { type Sql, sql } from '../../../infra/clickhouse/sql.ts';
import { table } from '../../../infra/clickhouse/table.ts';
import { UnchangedRows } from '../../../infra/clickhouse/unchanged-rows.ts';
import { decoders } from '../../../ingest/raw/decoders.ts';
import { blocks, replacedBlocks } from '../../../ingest/raw/tables.ts';

const tableOf = (name: string) =>
  table({ name, doc: '', columns: { id: 'UInt8' }, engine: 'MergeTree', orderBy: ['id'] });
const [cats, dogs] = [tableOf('cats'), tableOf('dogs')];
const view = { ...cats, name: 'seen', engine: 'View' };

/** A store that counts: each reading has the next number. */
function counting() {
  const parts = new Map<string, string>();
  const state = { parts, read: 0, isBroken: false, hidesParts: false };
  const rows = async ({ text }: Sql): Promise<never[]> => {
    if (text.includes('system.parts') && state.hidesParts) throw new Error('not allowed');
    if (text.includes('system.parts'))
      return [...parts].map(([name, hash]) => ({ table: name, parts: hash })) as never[];
    if (state.isBroken) throw new Error('broken');
    return [++state.read] as never[];
  };
  return { state, unchanged: new UnchangedRows({ rows }, [cats, dogs, view]) };
}

test('reads a statement again when parts of its tables came or went, and not for those of others', async () => {
  const { state, unchanged } = counting();
  const both = () => Promise.all([unchanged.rows(sql`${cats}`), unchanged.rows(sql`${dogs}`)]);
  await unchanged.refresh();
  expect(await both()).toEqual([[1], [2]]);
  await unchanged.refresh();
  expect(await both()).toEqual([[1], [2]]);
  state.parts.set('dogs', 'a');
  expect(await both()).toEqual([[1], [2]]);
  await unchanged.refresh();
  expect(await both()).toEqual([[1], [3]]);
  state.parts.delete('dogs');
  await unchanged.refresh();
  expect(await both()).toEqual([[1], [4]]);
});

test('keeps nothing where it may not look at the parts', async () => {
  const { state, unchanged } = counting();
  await unchanged.refresh();
  expect([await unchanged.rows(sql`${cats}`), await unchanged.rows(sql`${cats}`)]).toEqual([[1], [1]]);
  state.hidesParts = true;
  await unchanged.refresh();
  expect([await unchanged.rows(sql`${cats}`), await unchanged.rows(sql`${cats}`)]).toEqual([[2], [3]]);
});

test('keeps nothing before it has looked, of views, of no table, and of what failed', async () => {
  const { state, unchanged } = counting();
  expect([await unchanged.rows(sql`${cats}`), await unchanged.rows(sql`${cats}`)]).toEqual([[1], [2]]);
  await unchanged.refresh();
  for (const statement of [sql`${view}`, sql`SELECT 1`]) {
    const first = await unchanged.rows(statement);
    expect(await unchanged.rows(statement)).not.toEqual(first);
  }
  state.isBroken = true;
  await expect(unchanged.rows(sql`${cats}`)).rejects.toThrow('broken');
  state.isBroken = false;
  expect(await unchanged.rows(sql`${cats}`)).toEqual([7]);
});

test('tells the heights of blocks that were written after it has looked, and goes on with them', async () => {
  const state = { parts: 'a', highest: 1 };
  const rows = async ({ text }: Sql): Promise<never[]> =>
    (text.includes('system.parts')
      ? [{ table: blocks.name, partition: '202611', parts: state.parts }]
      : [{ partition: '202611', highest_block: state.highest, ranges: [] }]) as never[];
  const unchanged = new UnchangedRows({ rows }, [blocks, replacedBlocks, decoders]);
  const highest = async () => (await readHeights(unchanged)).map(({ highest_block }) => highest_block);
  await unchanged.refresh();
  expect(await highest()).toEqual([1]);
  await unchanged.refresh();
  Object.assign(state, { parts: 'b', highest: 2 });
  expect(await highest()).toEqual([2]);
  await unchanged.refresh();
  expect(await highest()).toEqual([2]);
});
