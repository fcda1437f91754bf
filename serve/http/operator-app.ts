import type { FastifyInstance } from 'fastify';
import { openLogger } from '../../infra/logger.ts';
import type { ProcessHealth } from '../process-health.ts';
import { type ScrapeSources, servePrometheus } from '../prometheus/scrape.ts';
import { bareApp } from './bare-app.ts';
import type { ConnectionSettings } from './connections.ts';
import { serveHealth } from './health.ts';
import { refuseOtherMethods } from './refusals.ts';
import { measureRequests, type RequestMeasures } from './request-measures.ts';

/** A server of its own for probes: no caller of the API can keep them waiting. With metrics also for Prometheus. */
export async function buildProbes({
  settings,
  health,
  metrics,
}: {
  settings: ConnectionSettings & Parameters<typeof openLogger>[0];
  health: ProcessHealth;
  metrics?: { readonly sources: ScrapeSources; readonly requests: RequestMeasures };
}): Promise<FastifyInstance> {
  const app = bareApp(settings, { loggerInstance: openLogger(settings) }, () => false);
  if (metrics) measureRequests(app, metrics.requests);
  const refuseOthers = refuseOtherMethods(app);
  await serveHealth(app, health);
  if (metrics) await servePrometheus(app, metrics.sources);
  refuseOthers();
  return app;
}
