import { addressKey, type ClientAddresses } from '../http/client-address.ts';
import { HttpError } from '../http/errors.ts';
import type { Limiter, Limiters, Usage } from '../http/limiter.ts';
import { limitHeaders, policyOf } from '../http/rate-limit.ts';

/** A key, token or session. */
interface Credential<T> {
  /** Whether the store has a row with its id. Concurrent lookups share one query, so invented credentials are cheap. */
  readonly isStored: () => Promise<boolean>;
  readonly find: () => Promise<T>;
  readonly isFailure: (found: T) => boolean;
}

/**
 * Limits how many invalid keys, tokens and sessions an address may send. Each costs a query, and the limits of anonymous
 * callers do not apply to it. A valid credential is never refused, whatever else its address sends: above
 * the limit, a credential without a stored row is refused at once, and a credential with a row only if it is invalid.
 */
export class CredentialFailures {
  readonly #limiter: Limiter | null;

  constructor({ limiters, perMinute }: { limiters: Limiters; perMinute: number }) {
    this.#limiter = perMinute === 0 ? null : limiters({ name: 'failed-keys', max: perMinute, seconds: 60 });
  }

  /** Finds a credential. Throws a 429 if the credential is invalid and the sender is above the limit. */
  async check<T>(sender: ClientAddresses, { isStored, find, isFailure }: Credential<T>): Promise<T> {
    if (this.#limiter === null) return find();
    const address = addressKey(sender);
    const usage = await this.#limiter.usage(address);
    const isLimited = usage.remaining === 0;
    if (isLimited && !(await isStored())) throw refusal(usage);
    const found = await find();
    if (!isFailure(found)) return found;
    await this.#limiter.count(address);
    if (isLimited) throw refusal(usage);
    return found;
  }
}

const refusal = (usage: Usage): HttpError =>
  new HttpError(
    'too_many_requests',
    `More than ${usage.limit.max} invalid keys, tokens or sessions in a minute. Try again in ${usage.reset} s.`,
    { ...limitHeaders(policyOf([usage.limit]), usage), 'retry-after': String(usage.reset) },
  );
