import Fastify, { type FastifyInstance, LogController } from 'fastify';
import type { Engine } from '../../aggregate/engine.ts';
import { openLogger } from '../../infra/logger.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { serveHealth } from './health.ts';
import { servePrometheusMetrics } from './prometheus-metrics.ts';

/** What a process answers that serves no API: whether it is alive and ready, and its figures. */
export async function buildProbes(engine: Engine): Promise<FastifyInstance> {
  const app = Fastify({
    loggerInstance: openLogger(engine.config),
    logController: new LogController({ disableRequestLogging: true }),
  }) as unknown as FastifyInstance;
  handleErrors(app, problemDialect);
  await serveHealth(app, engine);
  await servePrometheusMetrics(app, engine);
  return app;
}
