import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { countedAddress } from './client-address.ts';
import { HttpError } from './errors.ts';
import type { Limiter, Limiters, RateLimit, Usage } from './limiter.ts';
import type { HttpSettings } from './settings.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * The account that a request proves to act for; null where it proves none. A limit by address asks only once it is
 * exceeded: what others do at the address is then no reason to refuse somebody who is known, whose requests are counted
 * by account instead.
 */
export type Prove = (request: FastifyRequest) => Promise<string | null>;

/**
 * Two limits for anonymous callers, each by address; a request that exceeds either is a 429. The headers report the
 * window that is nearest to its end.
 */
export function limitAnonymous(
  app: FastifyInstance,
  { settings, limiters, prove }: { settings: HttpSettings; limiters: Limiters; prove: Prove },
): void {
  const limits: RateLimit[] = [
    { name: 'minute', max: settings.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', max: settings.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter(({ max }) => max > 0);
  if (limits.length === 0) return;
  const policy = policyOf(limits);

  const isCounted = ({ isKnownCaller }: FastifyRequest) => !isKnownCaller;
  countRequests(app, { isCounted, prove, at: 'onRequest' }, limits.map(limiters), (usages) => {
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

/** What an answer says of the limits of a policy, of which one was used so much. */
export function limitHeaders(policy: string, { limit, remaining, reset }: Usage): Record<string, string> {
  return {
    'ratelimit-policy': policy,
    ratelimit: `"${limit.name}";r=${remaining};t=${reset}`,
    'ratelimit-limit': String(limit.max),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(reset),
  };
}

/** One limit for every caller of a scope, by address. Callers who prove by a form who they are do so `at` the preHandler. */
export function limitEveryone(
  app: FastifyInstance,
  limit: RateLimit,
  { limiters, prove, at = 'onRequest' }: { limiters: Limiters; prove: Prove; at?: CountedScope['at'] },
): void {
  if (limit.max === 0) return;
  countRequests(app, { isCounted: () => true, prove, at }, [limiters(limit)], ([usage]) =>
    usage?.isExceeded
      ? new HttpError(
          'too_many_requests',
          `More than ${limit.max} requests a minute; try again in ${usage.reset} s.`,
          { 'retry-after': String(usage.reset) },
        )
      : {},
  );
}

/** Of two limits that are exceeded the one that ends later, otherwise the one with fewer requests left. */
function tighter(one: Usage, other: Usage): Usage {
  if (one.isExceeded && other.isExceeded) return one.reset >= other.reset ? one : other;
  if (one.isExceeded !== other.isExceeded) return one.isExceeded ? one : other;
  return one.remaining <= other.remaining ? one : other;
}

/** Which requests of a scope are counted, and the hook in which one that is refused may still prove who it is. */
interface CountedScope {
  readonly isCounted: (request: FastifyRequest) => boolean;
  readonly prove: Prove;
  readonly at: 'onRequest' | 'preHandler';
}

/** Counts the requests of a scope against all limits. `judge` gives the headers of the answer, or why it is refused. */
function countRequests(
  app: FastifyInstance,
  { isCounted, prove, at }: CountedScope,
  limiters: readonly Limiter[],
  judge: (usages: readonly Usage[]) => Headers | HttpError,
): void {
  const refused = new WeakMap<FastifyRequest, HttpError>();
  const count = async (caller: string) =>
    judge(await Promise.all(limiters.map((limiter) => limiter.count(caller))));
  app.addHook('onRequest', async (request, reply) => {
    if (!isCounted(request)) return;
    const verdict = await count(countedAddress(request));
    if (verdict instanceof HttpError) refused.set(request, verdict);
    else reply.headers(verdict);
  });
  app.addHook(at as 'onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const refusal = refused.get(request);
    if (refusal === undefined) return;
    const account = await prove(request);
    const verdict = account === null ? refusal : await count(`account/${account}`);
    if (verdict instanceof HttpError) throw verdict;
    reply.headers(verdict);
  });
}
