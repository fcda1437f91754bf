import cors from '@fastify/cors';
import underPressure from '@fastify/under-pressure';
import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { pino } from 'pino';
import type { Engine } from '../../aggregate/engine.ts';
import { serveAlerts } from '../alerts/routes.ts';
import { startAccountMaintenance } from '../identity/accounts/maintenance.ts';
import { authenticateCallers, hideAccessToken } from '../identity/authentication.ts';
import { accountsOf } from '../identity/engine-accounts.ts';
import { serveOAuth } from '../identity/oauth/routes.ts';
import { serveConsole } from '../identity/pages/routes.ts';
import { serveCatalogue } from '../metrics/catalogue.ts';
import { serveHome } from '../metrics/pages/home.ts';
import { serveMetrics } from '../metrics/routes.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { serveHealth } from './health.ts';
import { serveDocs } from './openapi.ts';
import { servePrometheusMetrics } from './prometheus-metrics.ts';
import { limitAnonymous } from './rate-limit.ts';

/** Builds the HTTP side; whoever calls it listens, or injects requests. */
export async function buildApp(engine: Engine): Promise<FastifyInstance> {
  const { config } = engine;
  const app = Fastify({
    loggerInstance: pino({
      level: config.LOG_LEVEL,
      redact: ['req.headers.authorization', 'req.headers.cookie', '*.password', '*.token'],
    }),
    trustProxy: config.TRUST_PROXY,
    bodyLimit: 1024 * 1024,
    keepAliveTimeout: KEEP_ALIVE_MS,
    http: { maxHeaderSize: HEAD_BYTES_MAX },
    rewriteUrl: hideAccessToken,
    logController: new LogController({ disableRequestLogging: true }),
  }) as unknown as FastifyInstance;
  // Validation is ours, since it names every fault at once; so is serialisation, since bytes come from the engine.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  handleErrors(app, problemDialect);
  app.addHook('onResponse', (request, reply, next) => {
    // What follows the path of an OAuth request may be a secret that somebody put there by mistake.
    const url = request.url.startsWith('/oauth/') ? request.url.split('?')[0] : request.url;
    request.log.debug({ url, status: reply.statusCode, ms: reply.elapsedTime }, 'answered');
    next();
  });

  await app.register(underPressure, { maxEventLoopDelay: 2000, retryAfter: 5 });
  await serveDocs(app);
  const { runtime, registry, aggregator } = engine;
  const sources = { ...runtime, registry, aggregator, versions: aggregator, settings: config };
  await serveHealth(app, () => engine.ready());
  await servePrometheusMetrics(app, { ...sources, loads: () => engine.loads });
  const accounts = await accountsOf(engine);
  startAccountMaintenance(app, accounts);
  await serveConsole(app, accounts);
  await serveHome(app, sources, accounts);
  await serveOAuth(app, accounts);
  await serveAlerts(app, engine, accounts);
  await app.register(async (api) => {
    await api.register(cors, { origin: '*', methods: ['GET', 'HEAD'], exposedHeaders: EXPOSED });
    api.addHook('onRequest', (_request, reply, next) => {
      reply.header('x-content-type-options', 'nosniff');
      reply.header('x-attribution', ATTRIBUTION);
      next();
    });
    authenticateCallers(api, accounts);
    await limitAnonymous(api, sources);
    await serveMetrics(api, sources);
    await serveCatalogue(api, sources);
  });
  return app;
}

/**
 * Longer than senders keep an idle connection (Go's clients: 5 minutes): one that this side closes at the moment in
 * which it is used again is a lost request to them.
 */
const KEEP_ALIVE_MS = 6 * 60_000;

/** A thousand addresses fit into one request; of more, the one who asks is told so instead of being cut off. */
const HEAD_BYTES_MAX = 1024 * 1024;

/** Public use of the data requires that its source is named. */
const ATTRIBUTION = 'Chain Metrics';

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
  'X-Provisional-From',
  'X-Truncated',
];
