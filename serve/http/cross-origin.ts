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

/** CORS headers of responses that every origin may read. */
export const CORS_HEADERS = {
  'access-control-allow-origin': '*',
  'access-control-expose-headers': EXPOSED.join(', '),
};

/**
 * CORS headers for an error on a path. Errors need them separately: some are sent before the hooks of `allowCors` run
 * (503 under load) or outside every route (404).
 */
export const corsHeaders = (path: string): Readonly<Record<string, string>> =>
  /^\/api\/(?!v4\b)/.test(path) ? CORS_HEADERS : {};

/**
 * Lets every origin read the routes that are added later. Only these routes answer preflights; the plugin alone would
 * answer them on every path of the server.
 */
export async function allowCors(scope: FastifyInstance): Promise<void> {
  scope.addHook('onRequest', (request, reply, next) => {
    // Constant headers are cheaper than the plugin's work per request.
    if (request.method === 'GET' || request.method === 'HEAD') reply.headers(CORS_HEADERS);
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
    // The plugin's hook answers the preflight; this route only registers the path. It also answers under load: the page
    // must get through the preflight to read the 503 of its actual request.
    scope.options(route.url, { config: { ...UNDER_LOAD }, schema: { hide: true } }, (_request, reply) =>
      reply.code(204).send(),
    );
  });
  await scope.register(cors, {
    origin: '*',
    methods: ['GET', 'HEAD'],
    exposedHeaders: EXPOSED,
    // OPTIONS without preflight headers asks for the allowed methods.
    strictPreflight: false,
  });
}

/** Route config that disables the plugin. */
const NO_ORIGIN = { cors: false };
