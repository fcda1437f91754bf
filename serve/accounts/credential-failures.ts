import { addressKey, type ClientAddresses } from '../http/client-address.ts';
import { HttpError } from '../http/errors.ts';
import type { Limiter, Limiters, Usage } from '../http/limiter.ts';
import { limitHeaders, policyOf } from '../http/rate-limit.ts';

/** A key, token or session, and how to look at it. */
interface Credential<T> {
  /** Whether the store has a row of its id. Many are asked for together, so it costs little however many are invented. */
  readonly isStored: () => Promise<boolean>;
  readonly find: () => Promise<T>;
  readonly isFailure: (found: T) => boolean;
}

/**
 * Limits how often an address may send keys, tokens and sessions that are not valid: each costs a look into the store,
 * and none is held to the limits of those without a key. A valid one is never refused, whatever others of its address
 * send, and in whichever process: it is looked at if the store has it.
 */
export class CredentialFailures {
  readonly #limiter: Limiter | null;

  constructor({ limiters, perMinute }: { limiters: Limiters; perMinute: number }) {
    this.#limiter = perMinute === 0 ? null : limiters({ name: 'failed-keys', max: perMinute, seconds: 60 });
  }

  /** Looks at a credential. One that is not valid is a 429 if its sender has failed too often. */
  async look<T>(sender: ClientAddresses, { isStored, find, isFailure }: Credential<T>): Promise<T> {
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
    `More than ${usage.limit.max} keys, tokens or sessions a minute that are not valid; try again in ${usage.reset} s.`,
    { ...limitHeaders(policyOf([usage.limit]), usage), 'retry-after': String(usage.reset) },
  );
