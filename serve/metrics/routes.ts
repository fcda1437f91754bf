import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { metrics } from '../../aggregate/metrics/index.ts';
import { isoDayOf } from '../../aggregate/metrics/shared/facts.ts';
import type { Clock } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import type { Readers } from '../http/readers.ts';
import { route } from '../http/route.ts';
import { type Answer, AnswerCache, type AnswerSettings, type TableVersions } from './answers.ts';
import { describeEndpoint } from './describe.ts';
import { Freshness } from './freshness.ts';
import { parametersOf, queryOf, querySchema } from './parameters.ts';
import { acceptedFormat } from './response-formats.ts';

/** What the metrics API stands on. */
export interface MetricsApi {
  readonly readers: Readers;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly versions: TableVersions;
  readonly settings: AnswerSettings;
}

/** One generic route: every endpoint of every metric becomes a path, and nothing is written for it by hand. */
export async function serveMetrics(
  app: FastifyInstance,
  { readers, clock, registry, versions, settings }: MetricsApi,
): Promise<void> {
  const answers = new AnswerCache({ clock, versions, settings });
  const freshness = new Freshness({ store: readers.shared, versions });
  for (const metric of metrics) {
    for (const endpoint of metric.endpoints) {
      const parameters = parametersOf(endpoint, settings.LIST_ROWS_MAX);
      const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer) => {
        answers.hold(cacheKey(request), answer, reply.raw);
        return sendAnswer(request, reply, answer, freshness, clock.now());
      };
      route(
        app,
        {
          ...describeEndpoint(metric, endpoint),
          query: querySchema(parameters),
          // A cached answer needs neither the parsing nor the validation of its parameters again.
          onRequest: (request, reply, next) => {
            const cached = answers.cached(cacheKey(request), metric);
            if (cached) send(request, reply, cached);
            else next();
          },
        },
        async ({ query: values, request, reply }) => {
          const query = queryOf(endpoint, values, registry, isoDayOf(clock.now()));
          const format = query.format ?? acceptedFormat(request.headers.accept);
          const reader = await readers.open(request, reply);
          await freshness.refresh();
          const asked = { key: cacheKey(request), metric, endpoint, query, format };
          const answer = await answers.render(asked, reader);
          return send(request, reply, answer);
        },
      );
    }
  }
}

/** The key of an answer: its URL, and the format where `Accept` names one. */
function cacheKey(request: FastifyRequest): string {
  const { accept } = request.headers;
  return accept === undefined || accept === '*/*' ? request.url : `${request.url}\n${acceptedFormat(accept)}`;
}

function sendAnswer(
  request: FastifyRequest,
  reply: FastifyReply,
  answer: Answer,
  freshness: Freshness,
  now: number,
): FastifyReply {
  reply.headers(freshness.headers(answer.query, now));
  reply.header('etag', answer.etag);
  reply.header('cache-control', 'public, max-age=15');
  reply.header('vary', 'Accept');
  reply.header('x-truncated', answer.next === null ? 'false' : 'true');
  if (answer.next !== null) reply.header('link', `<${nextUrl(request.url, answer.next)}>; rel="next"`);
  if (isSame(request.headers['if-none-match'], answer.etag)) return reply.code(304).send();
  return reply.type(answer.type).send(answer.body);
}

function nextUrl(url: string, cursor: string): string {
  const [path = '', search = ''] = url.split('?');
  const parameters = new URLSearchParams(search);
  parameters.set('cursor', cursor);
  return `${path}?${parameters}`;
}

function isSame(given: string | undefined, etag: string): boolean {
  if (given === undefined) return false;
  return given === '*' || given.split(',').some((one) => one.trim().replace(/^W\//, '') === etag);
}
