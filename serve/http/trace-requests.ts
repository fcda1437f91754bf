import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Span, Tracer } from '../../infra/tracing/tracer.ts';
import { METHODS } from './request-measures.ts';

/** What is asked for all the time, and tells nothing of the product's work. */
const UNTRACED = /^\/(health\/|metrics$)/;

/**
 * Makes the requests of all scopes that are registered from now on spans. They have the route and not the address: what
 * callers write into an address may be a secret in the wrong place. Nothing tells who a caller is.
 */
export function traceRequests(app: FastifyInstance, tracer: Tracer): void {
  if (!tracer.isOn) return;
  const spans = new WeakMap<FastifyRequest, Span>();
  app.addHook('onRequest', (request, _reply, next) => {
    const { url: route } = request.routeOptions;
    if (route !== undefined && UNTRACED.test(route)) return next();
    const method = METHODS.has(request.method) ? request.method : '_OTHER';
    const name = method === '_OTHER' ? 'HTTP' : method;
    const span = tracer.start(route === undefined ? name : `${name} ${route}`, {
      kind: 'server',
      caller: traceparentIn(request),
      attributes: {
        'http.request.method': method,
        'url.scheme': request.protocol,
        ...(route === undefined ? {} : { 'http.route': route }),
      },
    });
    spans.set(request, span);
    tracer.within(span, () => next());
  });
  // A body arrives on its connection, which is part of no request's work.
  app.addHook('preValidation', (request, _reply, next) => {
    const span = spans.get(request);
    if (span) tracer.within(span, () => next());
    else next();
  });
  app.addHook('onResponse', (request, reply, next) => {
    const span = spans.get(request);
    if (span) {
      const { statusCode } = reply;
      span.set({ 'http.response.status_code': statusCode });
      if (statusCode >= 500) span.fail(String(statusCode));
      span.end();
    }
    next();
  });
}

function traceparentIn({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers;
  return typeof traceparent === 'string' ? traceparent : undefined;
}
