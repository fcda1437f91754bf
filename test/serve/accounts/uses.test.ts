import { expect, it } from 'vitest';
import type { Store } from '../../../infra/ports.ts';
import { Uses } from '../../../serve/accounts/uses.ts';

it('uses that the store did not take are written with the next ones', async () => {
  let isAway = true;
  let now = 1_000_000;
  const written: unknown[] = [];
  const store = {
    insert: async (_table: unknown, rows: readonly unknown[]) => {
      if (isAway) throw new Error('the store is away');
      written.push(...rows);
    },
  } as unknown as Store;
  const uses = new Uses(store, { now: () => now });
  uses.record('one');
  await expect(uses.flush()).rejects.toThrow('away');
  isAway = false;
  now = 1_001_000;
  uses.record('one');
  uses.record('other');
  await uses.flush();
  await uses.flush();
  expect(written).toEqual([
    { id: 'one', used_ms: 1_000_000 },
    { id: 'other', used_ms: 1_001_000 },
  ]);
});
