import { afterAll, beforeAll, beforeEach } from 'vitest';
import type { Store } from '../../infra/ports.ts';
import { DATABASE } from '../../infra/sql.ts';
import { openStore } from './open-store.ts';

/** Gives the tests beside it a store whose database is empty before each of them. */
export function useEmptyStore(take: (store: Store) => void): void {
  let opened: Awaited<ReturnType<typeof openStore>>;
  beforeAll(async () => {
    opened = await openStore();
    take(opened.store);
  });
  afterAll(() => opened.close());
  beforeEach(async () => {
    await opened.store.run(`DROP DATABASE ${DATABASE} SYNC`);
    await opened.store.run(`CREATE DATABASE ${DATABASE} ENGINE = Atomic`);
  });
}
