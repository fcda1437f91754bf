import Fastify, { type FastifyInstance, LogController } from 'fastify';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { openLogger } from '../../infra/logger.ts';
import type { ProcessHealth } from '../process-health.ts';
import { arrivalLimits, type ConnectionSettings, limitConnections } from './connections.ts';
import { problemDialect } from './dialects.ts';
import { handleErrors } from './errors.ts';
import { serveHealth } from './health.ts';
import { refuseUnclearHost } from './host-header.ts';
import { type MetricSources, servePrometheusMetrics } from './prometheus-metrics.ts';
import { refuseOtherMethods, refusePath } from './refusals.ts';
import { measureRequests, type RequestMeasures } from './request-measures.ts';

/** A server of its own for probes: no caller of the API can keep them waiting. With metrics also for Prometheus. */
export async function buildProbes({
  settings,
  health,
  metrics,
}: {
  settings: ConnectionSettings & Parameters<typeof openLogger>[0];
  health: ProcessHealth;
  metrics?: { readonly sources: MetricSources; readonly requests: RequestMeasures };
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
  if (metrics) measureRequests(app, metrics.requests);
  const refuseOthers = refuseOtherMethods(app);
  await serveHealth(app, health);
  if (metrics) await servePrometheusMetrics(app, metrics.sources);
  refuseOthers();
  return app;
}
