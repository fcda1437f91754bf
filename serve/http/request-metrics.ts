import type { FastifyInstance } from 'fastify';
import { Counter, Histogram } from 'prom-client';

export const METHODS: ReadonlySet<string> = new Set([
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
]);
/** Label for other methods and unknown paths, so that callers cannot create label values. */
const OTHER = 'other';

/** Prometheus metrics of the HTTP servers. */
export const createRequestMetrics = () => ({
  seconds: new Histogram({
    name: 'chain_metrics_http_request_duration_seconds',
    help: 'Request duration by method, route and status. Unusual methods and unknown paths have the label value `other`.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    registers: [],
  }),
  bytes: new Counter({
    name: 'chain_metrics_http_response_bytes_total',
    help: 'Bytes of response bodies with a Content-Length.',
    registers: [],
  }),
});

export type RequestMetrics = ReturnType<typeof createRequestMetrics>;

/** Measures the requests of all scopes that are registered later. */
export function measureRequests(app: FastifyInstance, { seconds, bytes }: RequestMetrics): void {
  app.addHook('onResponse', (request, reply, next) => {
    const labels = {
      method: METHODS.has(request.method) ? request.method : OTHER,
      route: request.routeOptions.url ?? OTHER,
      status: String(reply.statusCode),
    };
    seconds.observe(labels, reply.elapsedTime / 1000);
    bytes.inc(Number(reply.getHeader('content-length') ?? 0));
    next();
  });
}
