import RateLimiterRes from 'rate-limiter-flexible/lib/RateLimiterRes.js';
import RateLimiterStoreAbstract from 'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js';
import { EmbeddedKeyValue } from '../../infra/embedded/key-value.ts';
import type { Clock, KeyValue, Runtime } from '../../infra/ports.ts';
import type { HttpSettings } from './settings.ts';

/** So many points of one caller in each window of time. */
export interface RateLimit {
  readonly name: string;
  readonly max: number;
  readonly seconds: number;
}

/** How much of a limit a caller has used. */
export interface Usage {
  readonly limit: RateLimit;
  readonly used: number;
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Seconds until the window ends. */
  readonly reset: number;
}

/** Opens the limiter of a limit. */
export type Limiters = (limit: RateLimit) => Limiter;

/**
 * Every limit of requests, sign-ins, invalid keys, challenges and time of the store counts here. Servers share the
 * counts; while Redis does not answer, each counts by itself or refuses, as LIMITS_WITHOUT_REDIS says.
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
  /** Counts while `keyValue` does not answer. */
  readonly insuranceLimiter?: Limiter;
}

/** Points in a window, and the milliseconds until it ends. */
type Counted = readonly [points: number, msLeft: number];

/**
 * A store of rate-limiter-flexible over the key-value port. Windows begin at multiples of their length, so the key names
 * the window and one atomic increment counts.
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

  /** Counts points of a caller. */
  async count(caller: string, points = 1): Promise<Usage> {
    return this.#usageOf(await this.penalty(caller, points));
  }

  /** Counts nothing. */
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

  // What the library asks of a store:

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
