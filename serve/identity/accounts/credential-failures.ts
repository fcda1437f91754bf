import { LRUCache } from 'lru-cache';
import type { Clock } from '../../../infra/ports.ts';
import { type Addressed, countedAddress } from '../../http/client-address.ts';
import { HttpError } from '../../http/errors.ts';
import type { LimitCounts } from '../../http/limit-counts.ts';
import { limitHeaders, policyOf, type RateLimit, usageOf } from '../../http/rate-limit.ts';
import { hashSecret } from './secrets.ts';

/** The last credentials that were valid, of which each takes some hundred bytes. */
const VALID_KEPT = 10_000;

/**
 * Limits how often an address may send keys, tokens and sessions that are not valid: each costs a look into the store,
 * and none is held to the limits of those without a key. A valid one never counts, and one that was valid before is
 * looked at however much others of its address have failed.
 */
export class CredentialFailures {
  readonly #counts: LimitCounts;
  readonly #clock: Clock;
  readonly #limit: RateLimit;
  /** By hash, so that no secret is kept. */
  readonly #valid = new LRUCache<string, true>({ max: VALID_KEPT });

  constructor(of: { counts: LimitCounts; clock: Clock; perMinute: number }) {
    this.#counts = of.counts;
    this.#clock = of.clock;
    this.#limit = { name: 'failed-keys', max: of.perMinute, seconds: 60 };
  }

  /** Looks at a credential unless its sender has failed too often, which is a 429. */
  async look<T>(
    sender: Addressed,
    credential: string,
    find: () => Promise<T>,
    isFailure: (found: T) => boolean,
  ): Promise<T> {
    if (this.#limit.max === 0) return find();
    const hash = hashSecret(credential);
    const wasValid = this.#valid.has(hash);
    const address = countedAddress(sender);
    if (!wasValid) await this.#requireLeft(address);
    const found = await find();
    if (!isFailure(found)) {
      this.#valid.set(hash, true);
      return found;
    }
    this.#valid.delete(hash);
    await this.#counts.increment(this.#key(address), 1, this.#limit.seconds * 1000);
    return found;
  }

  /** Notes a credential that was issued just now: its owner is let in, whatever others of the address send. */
  knows(credential: string): void {
    this.#valid.set(hashSecret(credential), true);
  }

  async #requireLeft(address: string): Promise<void> {
    const used = Number((await this.#counts.get(this.#key(address))) ?? 0);
    if (used < this.#limit.max) return;
    const usage = usageOf(this.#limit, used, this.#clock.now());
    throw new HttpError(
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
