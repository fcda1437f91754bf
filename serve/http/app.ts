import type { IncomingMessage } from 'node:http';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { openLogger } from '../../infra/logger.ts';
import type { InfraSettings } from '../../infra/runtime/settings.ts';
import { bareApp } from './bare-app.ts';
import { proxyTrust } from './client-address.ts';
import type { ConnectionSettings } from './connections.ts';
import { omitContentLength } from './content-length.ts';
import { refuseEncodedBodies } from './refusals.ts';
import type { HttpSettings } from './settings.ts';

/**
 * Longer than clients keep an idle connection (Go: 5 minutes), so the client closes it first. If the server closed a
 * connection just as the client reused it, the request would be lost.
 */
const KEEP_ALIVE_MS = 6 * 60_000;

/** Room for a thousand addresses in one query string. */
const HEAD_BYTES_MAX = 1024 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
/** With a shorter period, @fastify/under-pressure may measure nothing and then report an infinite delay. */
const SAMPLE_MS = 2000;
const RETRY_SECONDS = 5;
const BUSY = Object.assign(new Error('Service Unavailable'), { statusCode: 503 });

/** Creates the public server without routes: limits, log lines and error responses that every route shares. */
export async function createApp(
  settings: ConnectionSettings &
    Pick<HttpSettings, 'TRUST_PROXY' | 'EVENT_LOOP_DELAY_MS_MAX'> &
    Pick<InfraSettings, 'LOG_LEVEL'>,
  rewriteUrl: (request: IncomingMessage) => string,
): Promise<FastifyInstance> {
  const trust = proxyTrust(settings.TRUST_PROXY);
  const app = bareApp(
    settings,
    {
      loggerInstance: openLogger(settings),
      trustProxy: trust,
      bodyLimit: BODY_BYTES_MAX,
      keepAliveTimeout: KEEP_ALIVE_MS,
      http: { maxHeaderSize: HEAD_BYTES_MAX },
      rewriteUrl,
    },
    (address) => trust !== false && trust(address, 0),
  );
  refuseEncodedBodies(app);
  omitContentLength(app, (_, { statusCode }) => statusCode === 304);
  app.addHook('onResponse', (request, reply, next) => {
    // Logs the route, not the URL: a URL may contain a misplaced secret.
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? 'none';
    request.log.debug({ method, route, status: reply.statusCode, ms: reply.elapsedTime }, 'answered');
    next();
  });
  // The first samples measure the startup, which blocks the event loop.
  let startCountsUntil = Number.POSITIVE_INFINITY;
  app.addHook('onReady', async () => {
    startCountsUntil = performance.now() + 2 * SAMPLE_MS;
  });
  await app.register(underPressure, {
    maxEventLoopDelay: settings.EVENT_LOOP_DELAY_MS_MAX,
    sampleInterval: SAMPLE_MS,
    pressureHandler: (_request, reply) => {
      if (performance.now() < startCountsUntil) return;
      reply.header('Retry-After', RETRY_SECONDS);
      return Promise.reject(BUSY);
    },
  });
  return app;
}
