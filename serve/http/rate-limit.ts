import type { FastifyInstance } from 'fastify';
import type { Engine } from '../../aggregate/engine.ts';
import { HttpError } from './errors.ts';

interface Limit {
  readonly name: string;
  readonly most: number;
  readonly seconds: number;
}

/**
 * Two limits for callers without a key, per address; exceeding either is a 429. Counted in fixed windows through
 * `keyValue`, so that several servers share one count.
 */
export function limitAnonymous(app: FastifyInstance, engine: Engine): void {
  const { config, runtime } = engine;
  const limits = [
    { name: 'minute', most: config.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', most: config.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter((limit): limit is Limit => limit.most > 0);
  const policy = limits.map(({ name, most, seconds }) => `"${name}";q=${most};w=${seconds}`).join(', ');
  if (limits.length === 0) return;

  app.addHook('onRequest', async (request, reply) => {
    if (request.isKnownCaller) return;
    const now = runtime.clock.now();
    let tightest = { remaining: Number.POSITIVE_INFINITY, reset: 0, limit: limits[0] as Limit };
    for (const limit of limits) {
      const window = Math.floor(now / 1000 / limit.seconds);
      const used = await runtime.keyValue.increment(
        `rate/${limit.name}/${window}/${request.ip}`,
        1,
        limit.seconds * 1000,
      );
      const remaining = limit.most - used;
      const reset = Math.ceil((window + 1) * limit.seconds - now / 1000);
      if (remaining < tightest.remaining) tightest = { remaining, reset, limit };
    }
    const { remaining, reset, limit } = tightest;
    const headers = {
      'ratelimit-policy': policy,
      ratelimit: `"${limit.name}";r=${Math.max(0, remaining)};t=${reset}`,
      'ratelimit-limit': String(limit.most),
      'ratelimit-remaining': String(Math.max(0, remaining)),
      'ratelimit-reset': String(reset),
    };
    if (remaining < 0) {
      throw new HttpError(
        'too_many_requests',
        `More than ${limit.most} requests a ${limit.name} without an API key; try again in ${reset} s.`,
        { ...headers, 'retry-after': String(reset) },
      );
    }
    reply.headers(headers);
  });
}
