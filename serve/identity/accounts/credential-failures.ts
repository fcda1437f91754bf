import type { Clock } from '../../../infra/ports.ts';
import { type Addressed, countedAddress } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { LimitCounts } from '../../http/limit-counts.ts';
import { limitHeaders, policyOf, type RateLimit, usageOf } from '../../http/rate-limit.ts';

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
  readonly #counts: LimitCounts;
  readonly #clock: Clock;
  readonly #limit: RateLimit;

  constructor(of: { counts: LimitCounts; clock: Clock; perMinute: number }) {
    this.#counts = of.counts;
    this.#clock = of.clock;
    this.#limit = { name: 'failed-keys', max: of.perMinute, seconds: 60 };
  }

  /** Looks at a credential. One that is not valid is a 429 if its sender has failed too often. */
  async look<T>(sender: Addressed, { isStored, find, isFailure }: Credential<T>): Promise<T> {
    if (this.#limit.max === 0) return find();
    const key = this.#key(countedAddress(sender));
    const used = Number((await this.#counts.get(key)) ?? 0);
    const isLimited = used >= this.#limit.max;
    if (isLimited && !(await isStored())) throw this.#refusal(used);
    const found = await find();
    if (!isFailure(found)) return found;
    await this.#counts.increment(key, 1, this.#limit.seconds * 1000);
    if (isLimited) throw this.#refusal(used);
    return found;
  }

  #refusal(used: number): HttpError {
    const usage = usageOf(this.#limit, used, this.#clock.now());
    return new HttpError(
      'too_many_requests',
      `More than ${this.#limit.max} keys, tokens or sessions a minute that are not valid; try again in ${usage.reset} s.`,
      { ...limitHeaders(policyOf([this.#limit]), usage), 'retry-after': String(usage.reset) },
    );
  }

  #key(address: string): string {
    const { name, seconds } = this.#limit;
    return `rate/${name}/${address}/${Math.floor(this.#clock.now() / (seconds * 1000))}`;
  }
}
