import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
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

type Headers = Readonly<Record<string, string>>;

/** What the answer of a counted request says of the limits, or why it is refused. */
type Verdict = Headers | HttpError;

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
  { settings, prove, ...counts }: Counts & { settings: HttpSettings; prove: Prove },
): void {
  const limits: RateLimit[] = [
    { name: 'minute', max: settings.ANONYMOUS_PER_MINUTE, seconds: 60 },
    { name: 'day', max: settings.ANONYMOUS_PER_DAY, seconds: 86_400 },
  ].filter(({ max }) => max > 0);
  if (limits.length === 0) return;
  const policy = policyOf(limits);

  const isAnonymous = ({ isKnownCaller }: FastifyRequest) => !isKnownCaller;
  onCounted(app, { isCounted: isAnonymous, prove, at: 'onRequest' }, limits, counts, (usages) => {
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
  { prove, at = 'onRequest', ...counts }: Counts & { prove: Prove; at?: CountedScope['at'] },
): void {
  if (limit.max === 0) return;
  onCounted(app, { isCounted: () => true, prove, at }, [limit], counts, ([usage]) =>
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

/**
 * Counts the requests of a scope against all limits, in fixed windows through the key-value port, so that all servers
 * share one count. `judge` refuses one with an error.
 */
function onCounted(
  app: FastifyInstance,
  { isCounted, prove, at }: CountedScope,
  limits: readonly RateLimit[],
  { keyValue, clock }: Counts,
  judge: (usages: readonly Usage[]) => Verdict,
): void {
  const refused = new WeakMap<FastifyRequest, HttpError>();
  const count = (caller: string): Verdict | Promise<Verdict> => {
    const now = clock.now();
    const sums = windowKeys(limits, caller, now).map(({ key, ttlMs }) => keyValue.increment(key, 1, ttlMs));
    const judged = (used: readonly number[]) =>
      judge(limits.map((limit, i) => usageOf(limit, used[i] as number, now)));
    return areKnown(sums) ? judged(sums) : Promise.all(sums).then(judged);
  };
  app.addHook('onRequest', (request, reply, next) => {
    if (!isCounted(request)) return next();
    const apply = (verdict: Verdict) => {
      if (verdict instanceof HttpError) refused.set(request, verdict);
      else reply.headers(verdict);
      next();
    };
    const verdict = count(countedAddress(request));
    if (verdict instanceof Promise) verdict.then(apply, next);
    else apply(verdict);
  });
  const admit = async (request: FastifyRequest, reply: FastifyReply, refusal: HttpError) => {
    const account = await prove(request);
    const verdict = account === null ? refusal : await count(`account/${account}`);
    if (verdict instanceof HttpError) throw verdict;
    reply.headers(verdict);
  };
  app.addHook(at as 'onRequest', (request, reply, next) => {
    const refusal = refused.get(request);
    if (refusal === undefined) return next();
    admit(request, reply, refusal).then(() => next(), next);
  });
}

interface WindowKey {
  readonly key: string;
  readonly ttlMs: number;
}

/** Names the windows that a caller is in. */
const windowKeys = (limits: readonly RateLimit[], caller: string, now: number): readonly WindowKey[] =>
  limits.map(({ name, seconds }) => {
    const ttlMs = seconds * 1000;
    return { key: `rate/${name}/${caller}/${Math.floor(now / ttlMs)}`, ttlMs };
  });

const areKnown = (sums: readonly (number | Promise<number>)[]): sums is readonly number[] =>
  sums.every((sum) => typeof sum === 'number');

export function usageOf(limit: RateLimit, used: number, now: number): Usage {
  const windowMs = limit.seconds * 1000;
  return {
    limit,
    isExceeded: used > limit.max,
    remaining: Math.max(0, limit.max - used),
    reset: Math.ceil((windowMs - (now % windowMs)) / 1000),
  };
}
