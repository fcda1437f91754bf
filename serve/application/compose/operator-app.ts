import type { FastifyInstance } from 'fastify';
import { openLogger } from '../../../infra/logger.ts';
import { bareApp } from '../../http/bare-app.ts';
import type { ConnectionSettings } from '../../http/connections.ts';
import { serveHealth } from '../../http/health.ts';
import type { ProcessHealth } from '../../http/process-health.ts';
import { refuseOtherMethods } from '../../http/refusals.ts';
import { measureRequests, type RequestMetrics } from '../../http/request-metrics.ts';
import { type ScrapeSources, servePrometheus } from '../prometheus/scrape.ts';

/** A separate server for probes, so that callers of the API cannot delay them. With `metrics` it serves GET /metrics too. */
export async function buildProbes({
  settings,
  health,
  metrics,
}: {
  settings: ConnectionSettings & Parameters<typeof openLogger>[0];
  health: ProcessHealth;
  metrics?: { readonly sources: ScrapeSources; readonly requests: RequestMetrics };
}): Promise<FastifyInstance> {
  const app = bareApp(settings, { loggerInstance: openLogger(settings) }, () => false);
  if (metrics) measureRequests(app, metrics.requests);
  const refuseOthers = refuseOtherMethods(app);
  await serveHealth(app, health);
  if (metrics) await servePrometheus(app, metrics.sources);
  refuseOthers();
  return app;
}
