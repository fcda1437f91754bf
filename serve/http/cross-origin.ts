import cors from '@fastify/cors';
import type { FastifyInstance } from 'fastify';
import { UNDER_LOAD } from './route.ts';

/** Headers that pages of other origins may read. */
const EXPOSED = [
  'X-Attribution',
  'ETag',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'X-Coverage',
  'X-Data-As-Of',
  'X-Data-Lag-Seconds',
  'X-Demo-Data',
  'X-Pending-From',
  'X-Pending-Reason',
  'X-Provisional-From',
  'X-Truncated',
  'X-Unknown-Chain',
  'WWW-Authenticate',
];

/** What an answer says that pages of every origin may read. */
export const READABLE = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED.join(', '),
};

/**
 * What an answer of a path has to say so that pages of other origins can read it. A scope says it of its routes; errors
 * come also before its hooks, as that of a busy server, or where no route is.
 */
export const readableHeaders = (path: string): Readonly<Record<string, string>> =>
  /^\/api\/(?!v4\b)/.test(path) ? READABLE : {};

/**
 * Lets pages of every origin read the routes that are added to this scope afterwards. Only these routes answer a
 * preflight: the plugin alone would answer it for every path of the server, whatever other scopes allow.
 */
export async function allowReading(scope: FastifyInstance): Promise<void> {
  scope.addHook('onRequest', (request, reply, next) => {
    // What every answer says is not worked out for each.
    if (request.method === 'GET' || request.method === 'HEAD') reply.headers(READABLE);
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
    // The hook of the plugin answers; the route only makes the path known. A page learns that the server is busy from the
    // answer to its request, which it sends only after this one.
    scope.options(route.url, { config: { ...UNDER_LOAD }, schema: { hide: true } }, (_request, reply) =>
      reply.code(204).send(),
    );
  });
  await scope.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD'],
    exposedHeaders: EXPOSED,
    // OPTIONS is also asked without a preflight, for what a path allows.
    strictPreflight: false,
  });
}

/** Switches the plugin off for a route. */
const NO_ORIGIN = { cors: false };
