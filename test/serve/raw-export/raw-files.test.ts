import { Readable } from 'node:stream';
import { expect, test } from 'vitest';
import { readAll, type Store } from '../../../infra/ports.ts';
import type { Sql } from '../../../infra/sql.ts';
import { type RawTable, rawData } from '../../../ingest/raw/raw-data.ts';
import { rawFiles } from '../../../serve/raw-export/raw-files.ts';

const PLACE = {
  table: rawData.get('events') as RawTable,
  relay_chain: 'polkadot',
  chain: 'polkadot',
} as const;
const LIMITS = { memoryBytesMax: 1 };
const daysIn = ({ text }: Sql) => [...new Set(text.match(/2026-01-\d\d/g))].sort();

/** A store with rows on some days, which answers with the days that it is asked for. */
function storeWith(sizes: Readonly<Record<string, number>>) {
  const asked: string[][] = [];
  const store: Pick<Store, 'rows' | 'stream' | 'split'> = {
    rows: async () => Object.entries(sizes).map(([date, size]) => ({ date, size })) as never,
    stream: async (statement) => {
      asked.push(daysIn(statement));
      return Readable.from(Buffer.from(`stream of ${daysIn(statement)[0]}`));
    },
    split: async (statement) => {
      asked.push(daysIn(statement));
      return new Map(Object.keys(sizes).map((date) => [date, Buffer.from(`part of ${date}`)]));
    },
  };
  return { store: store as Store, asked };
}

async function filesOf(store: Store, dates: readonly string[]) {
  const files = await rawFiles(store, { ...PLACE, dates }, LIMITS);
  return Promise.all(files.map(async ({ name, bytes }) => [name, (await readAll(bytes)).toString()]));
}

test('small days are made by one statement, and one without rows is empty', async () => {
  const { store, asked } = storeWith({ '2026-01-01': 9000, '2026-01-04': 9000 });
  expect(await filesOf(store, ['2026-01-01', '2026-01-02', '2026-01-04'])).toEqual([
    ['2026-01-01', 'part of 2026-01-01'],
    ['2026-01-02', ''],
    ['2026-01-04', 'part of 2026-01-04'],
  ]);
  expect(asked).toEqual([['2026-01-01', '2026-01-05']]);
});

test('a large day is streamed alone, and days on both sides of one are not made together', async () => {
  const { store, asked } = storeWith({ '2026-01-01': 1, '2026-01-02': 10 ** 9, '2026-01-03': 1 });
  expect(await filesOf(store, ['2026-01-01', '2026-01-03'])).toEqual([
    ['2026-01-01', 'stream of 2026-01-01'],
  ]);
  expect(await filesOf(store, ['2026-01-02', '2026-01-03'])).toEqual([
    ['2026-01-02', 'stream of 2026-01-02'],
  ]);
  expect(asked).toHaveLength(2);
});

test('days without rows take no statement', async () => {
  const { store, asked } = storeWith({});
  expect(await filesOf(store, ['2026-01-01', '2026-01-02'])).toEqual([
    ['2026-01-01', ''],
    ['2026-01-02', ''],
  ]);
  expect(asked).toEqual([]);
});
