import { context, propagation, ROOT_CONTEXT, type Span, SpanKind } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { failSpan, startSpan, withActiveSpan } from '../../infra/tracing/spans.ts';
import { isTracingEnabled } from '../../infra/tracing/start-tracing.ts';
import { METHODS } from './request-metrics.ts';

/** Probes and scrapes: frequent and without information. */
const UNTRACED = /^\/(health\/|metrics$)/;

/**
 * Creates a span for each request of all scopes that are registered later. Spans contain the route, not the URL, because
 * a URL may contain a misplaced secret. They do not identify callers.
 */
export function traceRequests(app: FastifyInstance): void {
  if (!isTracingEnabled()) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', (request, _reply, next) => {
    const { url: route } = request.routeOptions;
    if (route !== undefined && UNTRACED.test(route)) return next();
    const span = startRequestSpan(request, route);
    spans.set(request, span);
    withActiveSpan(span, next);
  });
  // Reading a body loses the async context of its request, so it is restored here.
  app.addHook('preValidation', (request, _reply, next) => {
    const span = spans.get(request);
    if (span) withActiveSpan(span, next);
    else next();
  });
  app.addHook('onResponse', (request, { statusCode }, next) => {
    const span = spans.get(request);
    span?.setAttribute('http.response.status_code', statusCode);
    if (span && statusCode >= 500) failSpan(span, String(statusCode));
    span?.end();
    next();
  });
}

function startRequestSpan({ method, headers, protocol }: FastifyRequest, route: string | undefined): Span {
  const isKnown = METHODS.has(method);
  const name = isKnown ? method : 'HTTP';
  const attributes = {
    'http.request.method': isKnown ? method : '_OTHER',
    'url.scheme': protocol,
    ...(route === undefined ? {} : { 'http.route': route }),
  };
  const options = { kind: SpanKind.SERVER, attributes };
  return context.with(propagation.extract(ROOT_CONTEXT, headers), () =>
    startSpan(route === undefined ? name : `${name} ${route}`, options),
  );
}
