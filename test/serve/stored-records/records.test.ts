import { expect, it } from 'vitest';
import { users } from '../../../serve/identity/accounts/tables.ts';
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
