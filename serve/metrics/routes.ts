import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Metric, MetricEndpoint } from '../../aggregate/metric.ts';
import { metrics } from '../../aggregate/metrics/index.ts';
import type { Clock, Store } from '../../infra/ports.ts';
import type { Registry } from '../../ingest/chains/registry.ts';
import type { HttpSettings } from '../http/settings.ts';
import { type Answer, AnswerCache, type TableVersions } from './answers.ts';
import { Freshness } from './freshness.ts';
import { FORMATS, isInteger, type Parameter, parametersOf, readQuery } from './parameters.ts';

/** What the metrics API stands on. */
export interface MetricsApi {
  readonly store: Store;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly versions: TableVersions;
  readonly settings: Pick<HttpSettings, 'CACHE_BYTES' | 'LIST_ROWS_MAX'>;
}

/** One generic route: every endpoint of every metric becomes a path, and nothing is written for it by hand. */
export async function serveMetrics(
  app: FastifyInstance,
  { store, clock, registry, versions, settings }: MetricsApi,
): Promise<void> {
  const answers = new AnswerCache({ store, versions, settings });
  const freshness = new Freshness({ store, versions });
  for (const metric of metrics) {
    for (const endpoint of metric.endpoints) {
      const parameters = parametersOf(endpoint, settings.LIST_ROWS_MAX);
      const send = (request: FastifyRequest, reply: FastifyReply, answer: Answer) =>
        sendAnswer(request, reply, answer, freshness, clock.now());
      app.get(endpoint.path, {
        schema: openApi(metric, endpoint, parameters),
        // What is cached needs neither the parsing nor the validation of its parameters again.
        onRequest: (request, reply, next) => {
          const cached = answers.cached(cacheKey(request), metric);
          if (cached) send(request, reply, cached);
          else next();
        },
        handler: async (request, reply) => {
          const query = readQuery(endpoint, parameters, request.query as Record<string, unknown>, registry);
          const format = query.format ?? acceptedFormat(request.headers.accept);
          await freshness.refresh();
          const answer = await answers.render(cacheKey(request), metric, endpoint, query, format);
          return send(request, reply, answer);
        },
      });
    }
  }
}

/** The form of an answer depends on `Accept` too, unless it is the usual one. */
function cacheKey(request: FastifyRequest): string {
  const { accept } = request.headers;
  return accept === undefined || accept === '*/*' ? request.url : `${request.url}\n${acceptedFormat(accept)}`;
}

function acceptedFormat(accept: string | undefined): string {
  const wanted = (accept ?? '').split(',').map((part) => part.split(';')[0]?.trim().toLowerCase());
  const known = Object.entries(FORMATS).map(([name, { type }]) => [type.split(';')[0], name] as const);
  for (const type of wanted) {
    const format = known.find(([knownType]) => knownType === type);
    if (format) return format[1];
  }
  return 'json';
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

/** The route's part of the OpenAPI document. Validation is ours: it names every fault of a request at once. */
function openApi(metric: Metric, endpoint: MetricEndpoint, parameters: readonly Parameter[]): object {
  const record = z.toJSONSchema(z.object(metric.columns), { io: 'output', target: 'draft-2020-12' });
  return {
    operationId: endpoint.path.replace(/^\/api\//, '').replaceAll('/', '-'),
    summary: endpoint.summary,
    description: metric.doc,
    tags: ['Metrics'],
    querystring: {
      type: 'object',
      properties: Object.fromEntries(
        parameters.map(({ name, schema, doc }) => [name, { ...parameterSchema(schema), description: doc }]),
      ),
      required: parameters.filter(({ required }) => required).map(({ name }) => name),
    },
    response: {
      200: {
        description: `Array of ${metric.record}`,
        headers: ANSWER_HEADERS,
        type: 'array',
        items: { title: metric.record, ...record },
      },
      304: { description: 'Not modified since the given ETag', type: 'null' },
      422: { $ref: 'ValidationError#' },
      429: { $ref: 'Problem#' },
    },
  };
}

function parameterSchema(schema: z.ZodType): object {
  const io = isInteger(schema) ? 'output' : 'input';
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' });
  return rest;
}

const ANSWER_HEADERS = Object.fromEntries(
  Object.entries({
    ETag: 'changes whenever the rows may have changed',
    Link: 'the next page, when the answer is cut',
    'X-Truncated': 'true when the answer is cut',
    'X-Data-As-Of': 'time of the newest block behind the answer',
    'X-Data-Lag-Seconds': 'seconds since then',
    'X-Coverage': 'complete, or partial when heights are missing in the range',
    'X-Provisional-From': 'first day whose rows may still change because it is not over',
  }).map(([name, description]) => [name, { description, schema: { type: 'string' } }]),
);
