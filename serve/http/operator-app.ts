import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { openLogger } from '../../infra/logger.ts';
import { arrivalLimits, type ConnectionSettings, limitConnections } from './connections.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { serveHealth } from './health.ts';
import { refuseUnclearHost } from './host-header.ts';
import { type MetricSources, servePrometheusMetrics } from './prometheus-metrics.ts';
import { refuseOtherMethods, refusePath } from './refusals.ts';

/** The HTTP side of a process that serves no API: health probes and metrics for Prometheus. */
export async function buildProbes({
  settings,
  ready,
  ...sources
}: MetricSources & {
  settings: ConnectionSettings & Parameters<typeof openLogger>[0];
  ready: () => Promise<void>;
}): Promise<FastifyInstance> {
  const app = Fastify({
    ...arrivalLimits(settings),
    loggerInstance: openLogger(settings),
    frameworkErrors: refusePath,
    logController: new LogController({ disableRequestLogging: true }),
  }) as unknown as FastifyInstance;
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(() => (data) => JSON.stringify(data));
  handleErrors(app, problemDialect);
  refuseUnclearHost(app);
  limitConnections(app, { ...settings, isProxy: () => false });
  const refuseOthers = refuseOtherMethods(app);
  await serveHealth(app, ready, () => sources.damage.list().length > 0);
  await servePrometheusMetrics(app, sources);
  refuseOthers();
  return app;
}
