import { expect, it } from 'vitest';
import { ProductError } from '../../../infra/errors.ts';
import { users } from '../../../serve/accounts/tables.ts';
import { type RecordContext, Records } from '../../../serve/stored-records/records.ts';

it('a record is read where the cache stops answering meanwhile', async () => {
  const row = { id: '1', version: 3, expires_ms: 0 };
  const context = {
    keyValue: {
      get: async () => null,
      set: async () => {
        throw new Error('Redis does not answer');
      },
    },
    store: { rows: async () => [row] },
  } as unknown as RecordContext;
  expect(await new Records(context, users).get('1')).toEqual(row);
});

it('a row that the store refuses fails no other row that is written at the same time', async () => {
  const stored: string[] = [];
  const context = {
    keyValue: { set: async () => true },
    store: {
      insert: async (_table: unknown, rows: { id: string }[]) => {
        if (rows.some(({ id }) => id === 'odd'))
          throw new ProductError('store_refused', 'the store refuses it');
        stored.push(...rows.map(({ id }) => id));
      },
    },
  } as unknown as RecordContext;
  const records = new Records(context, users);
  const results = await Promise.allSettled(['1', 'odd', '2'].map((id) => records.add({ id, expires_ms: 0 })));
  expect(results).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'store_refused' } },
    { status: 'fulfilled' },
  ]);
  expect(stored).toEqual(['1', '2']);
});
