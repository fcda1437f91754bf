import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addressKey } from './client-address.ts';
import { HttpError } from './errors.ts';
import type { Limiter, Limiters, RateLimit, Usage } from './limiter.ts';
import type { HttpSettings } from './settings.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * Authenticates a request; null without valid credentials. An address limit calls it only when it is exceeded: an
 * authenticated caller is then counted by account, so others at the same address cannot lock it out.
 */
export type Authenticate = (request: FastifyRequest) => Promise<string | null>;

/**
 * Limits anonymous callers per minute and per day, by address. A request that exceeds either gets 429. The headers
 * report the window with the fewest requests left.
 */
export function limitAnonymous(
  app: FastifyInstance,
  {
    settings,
    limiters,
    authenticate,
  }: { settings: HttpSettings; limiters: Limiters; authenticate: Authenticate },
): void {
  const limits: RateLimit[] = [
    { name: 'minute', max: settings.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', max: settings.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter(({ max }) => max > 0);
  if (limits.length === 0) return;
  const policy = policyOf(limits);

  const isCounted = ({ isKnownCaller }: FastifyRequest) => !isKnownCaller;
  countRequests(app, { isCounted, authenticate, at: 'onRequest' }, limits.map(limiters), (usages) => {
    const usage = usages.reduce(tighter);
    const { limit, isExceeded, reset } = usage;
    const headers = limitHeaders(policy, usage);
    if (!isExceeded) return headers;
    return new HttpError(
      'too_many_requests',
      `More than ${limit.max} requests a ${limit.name} without an API key; try again in ${reset} s.`,
      { ...headers, 'retry-after': String(reset) },
    );
  });
}

export const policyOf = (limits: readonly RateLimit[]): string =>
  limits.map(({ name, max, seconds }) => `"${name}";q=${max};w=${seconds}`).join(', ');

/** Rate limit headers: the policy, and the usage of its tightest limit. */
export function limitHeaders(policy: string, { limit, remaining, reset }: Usage): Record<string, string> {
  return {
    'ratelimit-policy': policy,
    ratelimit: `"${limit.name}";r=${remaining};t=${reset}`,
    'ratelimit-limit': String(limit.max),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(reset),
  };
}

/** One limit by address for every caller of a scope. If `authenticate` needs the body, pass `at: 'preHandler'`. */
export function limitEveryone(
  app: FastifyInstance,
  limit: RateLimit,
  {
    limiters,
    authenticate,
    at = 'onRequest',
  }: { limiters: Limiters; authenticate: Authenticate; at?: CountedScope['at'] },
): void {
  if (limit.max === 0) return;
  countRequests(app, { isCounted: () => true, authenticate, at }, [limiters(limit)], ([usage]) =>
    usage?.isExceeded
      ? new HttpError(
          'too_many_requests',
          `More than ${limit.max} requests a minute; try again in ${usage.reset} s.`,
          { 'retry-after': String(usage.reset) },
        )
      : {},
  );
}

/** The exceeded limit with the later reset; if none is exceeded, the one with fewer requests left. */
function tighter(one: Usage, other: Usage): Usage {
  if (one.isExceeded && other.isExceeded) return one.reset >= other.reset ? one : other;
  if (one.isExceeded !== other.isExceeded) return one.isExceeded ? one : other;
  return one.remaining <= other.remaining ? one : other;
}

/** The counted requests of a scope, and the hook in which a caller above the limit may authenticate. */
interface CountedScope {
  readonly isCounted: (request: FastifyRequest) => boolean;
  readonly authenticate: Authenticate;
  readonly at: 'onRequest' | 'preHandler';
}

/** Counts requests against all limits. `judge` returns the response headers, or the error that refuses the request. */
function countRequests(
  app: FastifyInstance,
  { isCounted, authenticate, at }: CountedScope,
  limiters: readonly Limiter[],
  judge: (usages: readonly Usage[]) => Headers | HttpError,
): void {
  const refused = new WeakMap<FastifyRequest, HttpError>();
  const count = async (caller: string) =>
    judge(await Promise.all(limiters.map((limiter) => limiter.count(caller))));
  app.addHook('onRequest', async (request, reply) => {
    if (!isCounted(request)) return;
    const verdict = await count(addressKey(request));
    if (verdict instanceof HttpError) refused.set(request, verdict);
    else reply.headers(verdict);
  });
  app.addHook(at as 'onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const refusal = refused.get(request);
    if (refusal === undefined) return;
    const account = await authenticate(request);
    const verdict = account === null ? refusal : await count(`account/${account}`);
    if (verdict instanceof HttpError) throw verdict;
    reply.headers(verdict);
  });
}
