import cors from '@fastify/cors';
import underPressure from '@fastify/under-pressure';
import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { pino } from 'pino';
import type { Engine } from '../aggregate/engine.ts';
import { refuseUnknownKeys } from './authentication.ts';
import { serveCatalogue } from './catalogue.ts';
import { serveDocs } from './docs.ts';
import { mapErrors } from './errors.ts';
import { serveFigures } from './figures.ts';
import { serveHealth } from './health.ts';
import { serveMetrics } from './metrics.ts';
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
    logController: new LogController({ disableRequestLogging: true }),
  }) as unknown as FastifyInstance;
  // Validation is ours, since it names every fault at once; so is serialisation, since bytes come from the engine.
  app.setValidatorCompiler(() => () => true);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  mapErrors(app);
  app.addHook('onResponse', (request, reply, next) => {
    request.log.debug({ url: request.url, status: reply.statusCode, ms: reply.elapsedTime }, 'answered');
    next();
  });

  await app.register(underPressure, { maxEventLoopDelay: 2000, retryAfter: 5 });
  await serveDocs(app);
  await serveHealth(app, engine);
  await serveFigures(app, engine);
  await app.register(async (api) => {
    await api.register(cors, { origin: '*', methods: ['GET', 'HEAD'], exposedHeaders: EXPOSED });
    api.addHook('onRequest', (_request, reply, next) => {
      reply.header('x-content-type-options', 'nosniff');
      reply.header('x-attribution', ATTRIBUTION);
      next();
    });
    refuseUnknownKeys(api);
    limitAnonymous(api, engine);
    await serveMetrics(api, engine);
    await serveCatalogue(api, engine);
  });
  return app;
}

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
