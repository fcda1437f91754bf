import rateLimit, { type FastifyRateLimitStoreCtor } from '@fastify/rate-limit';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Clock } from '../../infra/ports.ts';
import { countedAddress } from './client-address.ts';
import { HttpError } from './errors.ts';
import type { LimitCounts } from './limit-counts.ts';
import type { HttpSettings } from './settings.ts';

/** So many requests of one address, or of one IPv6 network, in each window of time. */
export interface RateLimit {
  readonly name: string;
  readonly max: number;
  readonly seconds: number;
}

/** How much of a limit an address has used after its newest request. */
interface Usage {
  readonly limit: RateLimit;
  readonly isExceeded: boolean;
  readonly remaining: number;
  /** Seconds until the window ends. */
  readonly reset: number;
}

interface Counts {
  readonly keyValue: LimitCounts;
  readonly clock: Clock;
}

/**
 * Two limits for anonymous callers, each by address; a request that exceeds either is a 429. The plugin sets the
 * headers of one window only, so they are written here: they report the window that is nearest to its end.
 */
export async function limitAnonymous(
  app: FastifyInstance,
  { settings, ...counts }: Counts & { settings: HttpSettings },
): Promise<void> {
  const limits: RateLimit[] = [
    { name: 'minute', max: settings.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', max: settings.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter(({ max }) => max > 0);
  if (limits.length === 0) return;
  const policy = limits.map(({ name, max, seconds }) => `"${name}";q=${max};w=${seconds}`).join(', ');
  const count = await countRequests(app, limits, counts);

  app.addHook('onRequest', async (request, reply) => {
    if (request.isKnownCaller) return;
    const { limit, isExceeded, remaining, reset } = (await count(request)).reduce(tighter);
    const headers = {
      'ratelimit-policy': policy,
      ratelimit: `"${limit.name}";r=${remaining};t=${reset}`,
      'ratelimit-limit': String(limit.max),
      'ratelimit-remaining': String(remaining),
      'ratelimit-reset': String(reset),
    };
    if (isExceeded) {
      throw new HttpError(
        'too_many_requests',
        `More than ${limit.max} requests a ${limit.name} without an API key; try again in ${reset} s.`,
        { ...headers, 'retry-after': String(reset) },
      );
    }
    reply.headers(headers);
  });
}

/** One limit for every caller of a scope, by address. */
export async function limitEveryone(app: FastifyInstance, limit: RateLimit, counts: Counts): Promise<void> {
  if (limit.max === 0) return;
  const count = await countRequests(app, [limit], counts);
  app.addHook('onRequest', async (request) => {
    const [usage] = await count(request);
    if (!usage?.isExceeded) return;
    throw new HttpError(
      'too_many_requests',
      `More than ${limit.max} requests a minute; try again in ${usage.reset} s.`,
      { 'retry-after': String(usage.reset) },
    );
  });
}

/** Of two limits that are exceeded the one that ends later, otherwise the one with fewer requests left. */
function tighter(one: Usage, other: Usage): Usage {
  if (one.isExceeded && other.isExceeded) return one.reset >= other.reset ? one : other;
  if (one.isExceeded !== other.isExceeded) return one.isExceeded ? one : other;
  return one.remaining <= other.remaining ? one : other;
}

/** Returns a function that counts a request against all limits. */
async function countRequests(
  app: FastifyInstance,
  limits: readonly RateLimit[],
  counts: Counts,
): Promise<(request: FastifyRequest) => Promise<Usage[]>> {
  await app.register(rateLimit, { global: false, store: sharedStore(counts) });
  const limiters = limits.map((limit) => ({
    limit,
    use: app.createRateLimit({
      max: limit.max,
      timeWindow: limit.seconds * 1000,
      keyGenerator: (request) => `${limit.name}/${countedAddress(request)}`,
    }),
  }));
  return (request) =>
    Promise.all(
      limiters.map(async ({ limit, use }) => {
        const used = await use(request);
        if (used.isAllowed) throw new Error('the limits have no list of exempt addresses');
        return { limit, isExceeded: used.isExceeded, remaining: used.remaining, reset: used.ttlInSeconds };
      }),
    );
}

/** Counts in fixed windows through the key-value port, so that all servers share one count. */
function sharedStore({ keyValue, clock }: Counts): FastifyRateLimitStoreCtor {
  return class {
    incr(
      key: string,
      done: (error: Error | null, result?: { current: number; ttl: number }) => void,
      windowMs: number,
    ): void {
      const now = clock.now();
      const window = Math.floor(now / windowMs);
      keyValue
        .increment(`rate/${key}/${window}`, 1, windowMs)
        .then((current) => done(null, { current, ttl: (window + 1) * windowMs - now }), done);
    }

    child(): this {
      return this;
    }
  };
}
