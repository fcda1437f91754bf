import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { metrics } from '../../aggregate/metrics/index.ts';
import { withTimeout } from '../../infra/coordination/with-timeout.ts';
import { isoDay } from '../../infra/days.ts';
import { ignore } from '../../infra/ignore.ts';
import type { Clock } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import { PUBLIC_CACHE_CONTROL } from '../http/caching.ts';
import { matchesEtag } from '../http/entity-tags.ts';
import { callerKey, type Readers } from '../http/readers.ts';
import { route } from '../http/route.ts';
import { type AnswerKey, answerKey } from './answer-key.ts';
import type { Answer, AnswerCache, AnswerSettings } from './answers.ts';
import { describeEndpoint } from './describe.ts';
import type { Freshness } from './freshness.ts';
import { unknownChainHeader } from './known-chain.ts';
import { formatOf, parametersOf, type Query, queryOf, querySchema } from './parameters.ts';

/** Longest time that a cached answer waits for a refresh of its headers. */
const REFRESH_MS_MAX = 2000;

/** Dependencies of the metrics API. */
interface MetricsApi {
  readonly readers: Readers;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly answers: AnswerCache;
  readonly freshness: Freshness;
  readonly settings: AnswerSettings;
}

/** Registers a route for each endpoint of each metric. */
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
        const isKnown = matchesEtag(request, answer.etag);
        if (!isKnown) answers.hold(coded, answer, callerKey(request), reply.raw);
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
          // A cached answer skips parsing and validation of the parameters.
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
          // If the store does not answer, a cached answer is sent with the headers of the last refresh.
          const refreshed = freshness.refresh();
          const isCached = answers.cached(key.coded, metric) !== undefined;
          if (isCached) await withTimeout(REFRESH_MS_MAX, refreshed).catch(ignore('answers.refresh'));
          else await refreshed;
          const cached = answers.cached(key.coded, metric);
          if (cached) return sendCached(request, reply, key, cached);
          // The answer may have been evicted in the meantime.
          await refreshed;
          const reader = await readers.open(request, reply);
          // Computed before the rows are read, so that headers never claim more than the rows include.
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
  reply.header('cache-control', PUBLIC_CACHE_CONTROL);
  // With `format` in the URL, caches need no copy per `Accept` header.
  reply.header('vary', answer.query.format === undefined ? 'Accept, Accept-Encoding' : 'Accept-Encoding');
  reply.header('x-truncated', answer.next === null ? 'false' : 'true');
  if (answer.next !== null) reply.header('link', `<${nextUrl(request.url, answer.next)}>; rel="next"`);
  if (isKnown) return reply.code(304).send();
  if (answer.coding !== 'identity') reply.header('content-encoding', answer.coding);
  return reply.type(answer.type).send(answer.body);
}

function nextUrl(url: string, cursor: string): string {
  // A value may contain an unencoded question mark.
  const [path = '', search = ''] = url.split(/\?(.*)/s, 2);
  const parameters = new URLSearchParams(search);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
}
