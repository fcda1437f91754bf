import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import RateLimiterStoreAbstract from 'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js';
import { EmbeddedKeyValue } from '../../infra/embedded/key-value.ts';
import type { Clock, KeyValue, Runtime } from '../../infra/ports.ts';
import type { HttpSettings } from './settings.ts';

/** At most `max` points per caller in each window of `seconds`. */
export interface RateLimit {
  readonly name: string;
  readonly max: number;
  readonly seconds: number;
}

/** The usage of a limit by a caller. */
export interface Usage {
  readonly limit: RateLimit;
  readonly used: number;
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Seconds until the window ends. */
  readonly reset: number;
}

/** Creates the limiter for a limit. */
export type Limiters = (limit: RateLimit) => Limiter;

/**
 * Creates the limiters of requests, sign-ins, invalid keys, challenges and store time. Servers share the counts in Redis.
 * During an outage of Redis each server counts alone or refuses requests, depending on LIMITS_WITHOUT_REDIS.
 */
export function openLimiters(
  { keyValue, clock }: Pick<Runtime, 'keyValue' | 'clock'>,
  { LIMITS_WITHOUT_REDIS }: Pick<HttpSettings, 'LIMITS_WITHOUT_REDIS'>,
): Limiters {
  if (LIMITS_WITHOUT_REDIS === 'refuse') return (limit) => new Limiter(limit, { keyValue, clock });
  const own = new EmbeddedKeyValue(clock);
  return (limit) =>
    new Limiter(limit, { keyValue, clock, insuranceLimiter: new Limiter(limit, { keyValue: own, clock }) });
}

interface LimiterOptions {
  readonly keyValue: Pick<KeyValue, 'get' | 'increment'>;
  readonly clock: Clock;
  /** Fallback while `keyValue` does not answer. */
  readonly insuranceLimiter?: Limiter;
}

/** Points in the window, and milliseconds until it ends. */
type Counted = readonly [points: number, msLeft: number];

/**
 * A rate-limiter-flexible store on the key-value port. Windows start at multiples of their length, so the key contains
 * the window number and one atomic increment is enough.
 */
export class Limiter extends RateLimiterStoreAbstract {
  readonly limit: RateLimit;
  readonly #keyValue: LimiterOptions['keyValue'];
  readonly #clock: Clock;

  constructor(limit: RateLimit, { keyValue, clock, ...insurance }: LimiterOptions) {
    const { name, max, seconds } = limit;
    super({ keyPrefix: `rate/${name}`, points: max, duration: seconds, storeClient: keyValue, ...insurance });
    this.limit = limit;
    this.#keyValue = keyValue;
    this.#clock = clock;
  }

  /** Adds points of a caller. */
  async count(caller: string, points = 1): Promise<Usage> {
    return this.#usageOf(await this.penalty(caller, points));
  }

  /** Reads the usage without adding points. */
  async usage(caller: string): Promise<Usage> {
    return this.#usageOf((await this.get(caller)) ?? new RateLimiterRes(0, this.#window().msLeft, 0));
  }

  #usageOf({ consumedPoints: used, msBeforeNext }: RateLimiterRes): Usage {
    const { max } = this.limit;
    const remaining = Math.max(0, max - used);
    return {
      limit: this.limit,
      used,
      isExceeded: used > max,
      remaining,
      reset: Math.ceil(msBeforeNext / 1000),
    };
  }

  #window(): { readonly number: number; readonly msLeft: number } {
    const now = this.#clock.now();
    return { number: Math.floor(now / this.msDuration), msLeft: this.msDuration - (now % this.msDuration) };
  }

  // Methods of the store interface of rate-limiter-flexible:

  async _upsert(key: string, points: number, msDuration: number): Promise<Counted> {
    const { number, msLeft } = this.#window();
    return [await this.#keyValue.increment(`${key}/${number}`, points, msDuration), msLeft];
  }

  async _get(key: string): Promise<Counted | null> {
    const { number, msLeft } = this.#window();
    const points = await this.#keyValue.get(`${key}/${number}`);
    return points === null ? null : [Number(points), msLeft];
  }

  _getRateLimiterRes(_key: string, changed: number, [points, msLeft]: Counted): RateLimiterRes {
    return new RateLimiterRes(Math.max(0, this.points - points), msLeft, points, points === changed);
  }
}
