import type { Lease } from '../../infra/coordination/lock.ts';
import type { Accounts } from './accounts.ts';
import { FieldError } from './field-error.ts';

/** API keys, personal access tokens or wallets. */
export const KEYS_PER_ACCOUNT = 50;

/** Creates one item of a user under a lock, so that concurrent requests cannot exceed the limit. */
export function createWithinLimit<T>(
  { locks }: Accounts,
  lock: string,
  { count, limit, message }: { count: () => Promise<number>; limit: number; message: string },
  create: (lease: Lease) => Promise<T>,
): Promise<T> {
  return locks.run(lock, async (lease) => {
    if ((await count()) >= limit) throw new FieldError('name', message);
    return create(lease);
  });
}
