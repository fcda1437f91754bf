import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { metrics } from '../../aggregate/metrics/index.ts';
import { inTime } from '../../infra/coordination/in-time.ts';
import { isoDay } from '../../infra/days.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Clock } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { SHARED } from '../http/caching.ts';
import { hasAnswer } from '../http/entity-tags.ts';
import { countedCaller, type Readers } from '../http/readers.ts';
import { route } from '../http/route.ts';
import { type AnswerKey, answerKey } from './answer-key.ts';
import type { Answer, AnswerCache, AnswerSettings } from './answers.ts';
import { describeEndpoint } from './describe.ts';
import type { Freshness } from './freshness.ts';
import { unknownChainHeader } from './known-chain.ts';
import { formatOf, parametersOf, type Query, queryOf, querySchema } from './parameters.ts';

/** Longest time that a cached answer waits for what is new to be said of it. */
const REFRESH_MS_MAX = 2000;

/** What the metrics API stands on. */
interface MetricsApi {
  readonly readers: Readers;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly answers: AnswerCache;
  readonly freshness: Freshness;
  readonly settings: AnswerSettings;
}

/** One generic route: every endpoint of every metric becomes a path, and nothing is written for it by hand. */
export async function serveMetrics(
  app: FastifyInstance,
  { readers, clock, registry, answers, freshness, settings }: MetricsApi,
): Promise<void> {
  for (const metric of metrics) {
    for (const endpoint of metric.endpoints) {
      const parameters = parametersOf(metric, endpoint, settings);
      const freshnessOf = (query: Query) => freshness.headers(metric, query, clock.now());
      const send = (
        request: FastifyRequest,
        reply: FastifyReply,
        { coded }: AnswerKey,
        answer: Answer,
        known: Readonly<Record<string, string>>,
      ) => {
        const isKnown = hasAnswer(request, answer.etag);
        if (!isKnown) answers.hold(coded, answer, countedCaller(request), reply.raw);
        const headers = { ...known, ...unknownChainHeader(answer.query, registry) };
        return sendAnswer(request, reply.headers(headers), answer, isKnown);
      };
      const sendCached = (request: FastifyRequest, reply: FastifyReply, key: AnswerKey, answer: Answer) => {
        answers.countHit();
        return send(request, reply, key, answer, freshnessOf(answer.query));
      };
      route(
        app,
        {
          ...describeEndpoint(metric, endpoint),
          query: querySchema(parameters),
          // A cached answer needs neither the parsing nor the validation of its parameters again.
          onRequest: (request, reply, next) => {
            const key = answerKey(request);
            const cached = freshness.isCurrent ? answers.cached(key.coded, metric) : undefined;
            if (cached) sendCached(request, reply, key, cached);
            else next();
          },
        },
        async ({ query: values, request, reply }) => {
          const query = queryOf(endpoint, values, registry, isoDay(clock.now()));
          const format = formatOf(query, request.headers.accept);
          const key = answerKey(request);
          // A cached answer is sent with what is known of it while the store does not answer.
          const refreshed = freshness.refresh();
          const isCached = answers.cached(key.coded, metric) !== undefined;
          if (isCached) await inTime(REFRESH_MS_MAX, refreshed).catch(ignore('answers.refresh'));
          else await refreshed;
          const cached = answers.cached(key.coded, metric);
          if (cached) return sendCached(request, reply, key, cached);
          // It may have left the cache meanwhile.
          await refreshed;
          const reader = await readers.open(request, reply);
          // Made before the rows are read, so that they claim nothing that the rows do not hold.
          const known = freshnessOf(query);
          const answer = await answers.render({ key, metric, endpoint, query, format }, reader);
          return send(request, reply, key, answer, known);
        },
      );
    }
  }
}

function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  isKnown: boolean,
): FastifyReply {
  reply.header('etag', answer.etag);
  reply.header('cache-control', SHARED);
  // Browsers differ in what they accept: a format that the address names is cached once for all of them.
  reply.header('vary', answer.query.format === undefined ? 'Accept, Accept-Encoding' : 'Accept-Encoding');
  reply.header('x-truncated', answer.next === null ? 'false' : 'true');
  if (answer.next !== null) reply.header('link', `<${nextUrl(request.url, answer.next)}>; rel="next"`);
  if (isKnown) return reply.code(304).send();
  if (answer.coding !== 'identity') reply.header('content-encoding', answer.coding);
  return reply.type(answer.type).send(answer.body);
}

function nextUrl(url: string, cursor: string): string {
  // A question mark may stand in a value as it is.
  const [path = '', search = ''] = url.split(/\?(.*)/s, 2);
  const parameters = new URLSearchParams(search);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
}
