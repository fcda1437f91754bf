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
 * Two limits for anonymous callers, each by address; a request that exceeds either is a 429. The headers report the
 * window that is nearest to its end.
 */
export function limitAnonymous(
  app: FastifyInstance,
  { settings, ...counts }: Counts & { settings: HttpSettings },
): void {
  const limits: RateLimit[] = [
    { name: 'minute', max: settings.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', max: settings.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter(({ max }) => max > 0);
  if (limits.length === 0) return;
  const policy = limits.map(({ name, max, seconds }) => `"${name}";q=${max};w=${seconds}`).join(', ');

  app.addHook('onRequest', async (request, reply) => {
    if (request.isKnownCaller) return;
    const { limit, isExceeded, remaining, reset } = (await countRequest(request, limits, counts)).reduce(
      tighter,
    );
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
export function limitEveryone(app: FastifyInstance, limit: RateLimit, counts: Counts): void {
  if (limit.max === 0) return;
  app.addHook('onRequest', async (request) => {
    const [usage] = await countRequest(request, [limit], counts);
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

/** Counts a request against all limits, in fixed windows through the key-value port, so that all servers share one count. */
function countRequest(
  request: FastifyRequest,
  limits: readonly RateLimit[],
  { keyValue, clock }: Counts,
): Promise<Usage[]> {
  const address = countedAddress(request);
  const now = clock.now();
  return Promise.all(
    limits.map(async (limit) => {
      const windowMs = limit.seconds * 1000;
      const window = Math.floor(now / windowMs);
      const used = await keyValue.increment(`rate/${limit.name}/${address}/${window}`, 1, windowMs);
      return {
        limit,
        isExceeded: used > limit.max,
        remaining: Math.max(0, limit.max - used),
        reset: Math.ceil(((window + 1) * windowMs - now) / 1000),
      };
    }),
  );
}
