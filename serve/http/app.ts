import type { IncomingMessage } from 'node:http';
import underPressure from '@fastify/under-pressure';
import type { FastifyInstance } from 'fastify';
import { openLogger } from '../../infra/logger.ts';
import type { InfraSettings } from '../../infra/runtime/settings.ts';
import { bareApp } from './bare-app.ts';
import { proxyTrust } from './client-address.ts';
import type { ConnectionSettings } from './connections.ts';
import { leaveLengthOut } from './head-length.ts';
import { refuseEncodedBodies } from './refusals.ts';
import type { HttpSettings } from './settings.ts';

/**
 * Longer than senders keep an idle connection (Go's clients: 5 minutes). A connection that this side closes at the
 * moment of its reuse is a lost request to its sender.
 */
const KEEP_ALIVE_MS = 6 * 60_000;

/** Room for a thousand addresses in one query string; above it the answer still names the fault. */
const HEAD_BYTES_MAX = 1024 * 1024;
const BODY_BYTES_MAX = 1024 * 1024;
/** No shorter: if nothing is measured between two samples, the delay counts as infinite. */
const SAMPLE_MS = 2000;
const RETRY_SECONDS = 5;
const BUSY = Object.assign(new Error('Service Unavailable'), { statusCode: 503 });

/** The server of readers without routes: limits, log lines and error answers that every route shares. */
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
  leaveLengthOut(app, (_, { statusCode }) => statusCode === 304);
  app.addHook('onResponse', (request, reply, next) => {
    // The route and not the address: what callers write into an address may be a secret in the wrong place.
    const { method, routeOptions } = request;
    const route = routeOptions.url ?? 'none';
    request.log.debug({ method, route, status: reply.statusCode, ms: reply.elapsedTime }, 'answered');
    next();
  });
  // The first samples measure the start, which takes the event loop for itself.
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
