import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';

/**
 * Lets pages of every origin read the routes that are added to this scope afterwards. Only these routes answer a
 * preflight: the plugin alone would answer it for every path of the server, whatever other scopes allow.
 */
export async function allowReading(scope: FastifyInstance, exposedHeaders: readonly string[]): Promise<void> {
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-expose-headers': exposedHeaders.join(', '),
  };
  scope.addHook('onRequest', (request, reply, next) => {
    // What every answer says is not worked out for each.
    if (request.method === 'GET' || request.method === 'HEAD') reply.headers(headers);
    next();
  });
  scope.addHook('onRoute', (route) => {
    if (
      route.method === 'GET' ||
      route.method === 'HEAD' ||
      (route.method === 'OPTIONS' && route.url === '*')
    )
      route.config = Object.assign({}, route.config, NO_ORIGIN);
    if (route.method !== 'GET') return;
    // The hook of the plugin answers; the route only makes the path known.
    scope.options(route.url, { schema: { hide: true } }, (_request, reply) => reply.code(204).send());
  });
  await scope.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD'],
    exposedHeaders: [...exposedHeaders],
    // OPTIONS is also asked without a preflight, for what a path allows.
    strictPreflight: false,
  });
}

/** Switches the plugin off for a route. */
const NO_ORIGIN = { cors: false };
