import { context, propagation, ROOT_CONTEXT, type Span, SpanKind } from '@opentelemetry/api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { failSpan, startSpan, within } from '../../infra/tracing/spans.ts';
import { isTraced } from '../../infra/tracing/start-tracing.ts';
import { METHODS } from './request-metrics.ts';

/** What is asked for all the time, and tells nothing of the product's work. */
const UNTRACED = /^\/(health\/|metrics$)/;

/**
 * Makes the requests of all scopes that are registered from now on spans. They have the route and not the address: what
 * callers write into an address may be a secret in the wrong place. Nothing tells who a caller is.
 */
export function traceRequests(app: FastifyInstance): void {
  if (!isTraced()) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', (request, _reply, next) => {
    const { url: route } = request.routeOptions;
    if (route !== undefined && UNTRACED.test(route)) return next();
    const span = startRequestSpan(request, route);
    spans.set(request, span);
    within(span, next);
  });
  // A body arrives on its connection, which is part of no request's work.
  app.addHook('preValidation', (request, _reply, next) => {
    const span = spans.get(request);
    if (span) within(span, next);
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
