import { HttpError } from '../../http/errors.ts';
import type { Accounts } from './accounts.ts';

const WINDOW_MS = 15 * 60_000;
/** Limits across all addresses of an account, and all accounts of an address, are higher by this factor. */
const SHARED_FACTOR = 10;

/** 429 with the time to wait. */
export class TooManyAttempts extends HttpError {
  constructor(seconds: number) {
    super('too_many_requests', `Too many attempts. Try again in ${Math.ceil(seconds / 60)} minutes.`, {
      'retry-after': String(seconds),
    });
  }
}

/**
 * Limits failed attempts to authenticate. This is no request limit: it counts per account, per address and per pair
 * of both, and only failures, so it stands beside the limit of requests of an address. `attempt` returns null for a
 * failure. An attempt is counted before it runs, so that parallel attempts cannot exceed the limit.
 */
export async function limitFailedAttempts<T>(
  { keyValue, clock, settings }: Pick<Accounts, 'keyValue' | 'clock' | 'settings'>,
  what: 'password' | 'second factor' | 'wallet' | 'sign-up',
  account: string,
  address: string,
  attempt: () => Promise<T | null>,
): Promise<T | null> {
  const now = clock.now();
  const window = Math.floor(now / WINDOW_MS);
  const name = account.trim().toLowerCase().slice(0, 100);
  const counters = [
    { key: `${name}@${address}`, limit: settings.SIGN_IN_ATTEMPTS },
    { key: `${name}@`, limit: settings.SIGN_IN_ATTEMPTS * SHARED_FACTOR },
    { key: `@${address}`, limit: settings.SIGN_IN_ATTEMPTS * SHARED_FACTOR },
  ].map(({ key, limit }) => ({ key: `attempts/${what}/${window}/${key}`, limit }));
  const counts = await Promise.all(counters.map(({ key }) => keyValue.increment(key, 1, WINDOW_MS)));
  if (counts.some((count, i) => count > (counters[i]?.limit ?? 0))) {
    throw new TooManyAttempts(Math.ceil(((window + 1) * WINDOW_MS - now) / 1000));
  }
  const result = await attempt();
  if (result !== null) {
    await Promise.all(counters.map(({ key }) => keyValue.increment(key, -1, WINDOW_MS)));
  }
  return result;
}
