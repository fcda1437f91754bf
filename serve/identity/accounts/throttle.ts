import { HttpError } from '../../http/errors.ts';
import type { Accounts } from './accounts.ts';

const WINDOW_MS = 15 * 60_000;
/** A whole network behind one address, or many addresses against one account, are given this much more. */
const WIDER = 10;

/** Told to whoever tried too often: 429, with the time to wait. */
export class TooManyAttempts extends HttpError {
  constructor(seconds: number) {
    super('too_many_requests', `Too many attempts. Try again in ${Math.ceil(seconds / 60)} minutes.`, {
      'retry-after': String(seconds),
    });
  }
}

/**
 * Runs one attempt to prove who somebody is, unless there were too many failed ones for the account and address.
 * `attempt` returns null for a failure. Counted before the attempt, so that many at once count as many.
 */
export async function throttled<T>(
  accounts: Accounts,
  what: 'password' | 'second factor' | 'wallet' | 'sign-up',
  account: string,
  address: string,
  attempt: () => Promise<T | null>,
): Promise<T | null> {
  const { keyValue, clock, settings } = accounts;
  const now = clock.now();
  const window = Math.floor(now / WINDOW_MS);
  const name = account.trim().toLowerCase().slice(0, 100);
  const counters = [
    { key: `${name}@${address}`, most: settings.SIGN_IN_ATTEMPTS },
    { key: `${name}@`, most: settings.SIGN_IN_ATTEMPTS * WIDER },
    { key: `@${address}`, most: settings.SIGN_IN_ATTEMPTS * WIDER },
  ].map(({ key, most }) => ({ key: `attempts/${what}/${window}/${key}`, most }));
  const counts = await Promise.all(counters.map(({ key }) => keyValue.increment(key, 1, WINDOW_MS)));
  if (counts.some((count, i) => count > (counters[i]?.most ?? 0))) {
    throw new TooManyAttempts(Math.ceil(((window + 1) * WINDOW_MS - now) / 1000));
  }
  const proven = await attempt();
  // Only failures count.
  if (proven !== null) {
    await Promise.all(counters.map(({ key }) => keyValue.increment(key, -1, WINDOW_MS)));
  }
  return proven;
}
