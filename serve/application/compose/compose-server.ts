import type { FastifyInstance, FastifyRequest } from 'fastify';
import { readCoverage, readStatus } from '../../../aggregate/status/status.ts';
import { memoizeFor } from '../../../infra/coordination/memoize-for.ts';
import { authenticatedAccount } from '../../accounts/principal.ts';
import { serveAlerts } from '../../alerts/routes.ts';
import { ListReader } from '../../console/lists/list-reader.ts';
import { serveConsole } from '../../console/module.ts';
import { serveSeries } from '../../console/series/route.ts';
import { SeriesReader } from '../../console/series/series.ts';
import { serveGuides } from '../../guides/routes.ts';
import { createApp } from '../../http/app.ts';
import { compressAnswers } from '../../http/content-codings.ts';
import { allowCors } from '../../http/cross-origin.ts';
import { announceDemoData } from '../../http/demo-data.ts';
import { serveHealth } from '../../http/health.ts';
import { serveDocs } from '../../http/openapi.ts';
import { publicUrl } from '../../http/public-url.ts';
import { limitAnonymous } from '../../http/rate-limit.ts';
import { Readers } from '../../http/readers.ts';
import { refuseOtherMethods } from '../../http/refusals.ts';
import { measureRequests } from '../../http/request-metrics.ts';
import { traceRequests } from '../../http/trace-requests.ts';
import { authenticateCallers, hideAccessToken } from '../../identity/authentication.ts';
import { serveIdentity } from '../../identity/routes.ts';
import { AnswerCache } from '../../metrics/answers.ts';
import { serveCatalogue } from '../../metrics/catalogue.ts';
import { serveChanges } from '../../metrics/changes.ts';
import { Freshness } from '../../metrics/freshness.ts';
import { serveMetrics } from '../../metrics/routes.ts';
import { serveTableSchemas } from '../../metrics/table-schema.ts';
import { type ScrapeSources, servePrometheus } from '../prometheus/scrape.ts';
import type { Pipeline } from './compose.ts';
import { buildProbes } from './operator-app.ts';
import { listMetrics } from './process-metrics.ts';

/** Registers the routes of all domains; the caller listens, or injects requests. */
export async function buildServer(pipeline: Pipeline): Promise<FastifyInstance> {
  const { config, runtime, processMetrics, registry, aggregator, health } = pipeline;
  const accounts = pipeline.accounts();
  const { limiters } = accounts;
  const authenticate = (request: FastifyRequest) => authenticatedAccount(accounts, request);
  const readers = new Readers({ ...runtime, limiters, settings: config, authenticate });
  const { clock } = runtime;
  const store = readers.shared;
  // Concurrent requests share one call, since it takes many statements.
  const status = memoizeFor(0, () => readStatus({ store, clock }, aggregator));
  const coverage = memoizeFor(0, () => readCoverage(store, registry));
  const cached = { clock, versions: aggregator, settings: config, cacheMetrics: processMetrics.answers };
  const answers = new AnswerCache(cached);
  const freshness = new Freshness({ store, computation: aggregator });
  const sources = {
    ...runtime,
    ...{ limiters, registry, aggregator, versions: aggregator, readers, status, coverage, settings: config },
    ...{ answers, freshness, authenticate },
  };
  const alerts = await pipeline.alerts();
  const app = await createApp(config, hideAccessToken);
  traceRequests(app);
  measureRequests(app, processMetrics.requests);
  const demoNote = await announceDemoData(app, { ...runtime, aggregator });
  const refuseOthers = refuseOtherMethods(app);
  const origin = () => publicUrl(app, config);
  await serveDocs(app, demoNote, origin);
  health.addCheck(() => alerts.checkStoring());
  await serveHealth(app, health);
  await servePrometheus(app, {
    ...metricSources(pipeline),
    alerts: () => alerts.figures,
    readersWaiting: () => readers.waiting,
  });
  await serveIdentity(app, accounts);
  const series = new SeriesReader(sources);
  await serveGuides(app, accounts, origin, (pages) => limitAnonymous(pages, sources));
  await serveConsole(app, { ...sources, series, listReader: new ListReader(sources) }, accounts);
  await serveAlerts(app, {
    ...{ runtime, accounts, readers, pipeline: alerts },
    ...{ settings: config, metrics: processMetrics.alerts },
  });
  await app.register(async (api) => {
    await allowCors(api);
    api.addHook('onRequest', (_request, reply, next) => {
      reply.header('x-content-type-options', 'nosniff');
      reply.header('x-attribution', ATTRIBUTION);
      next();
    });
    authenticateCallers(api, accounts);
    limitAnonymous(api, sources);
    await serveMetrics(api, sources);
    await api.register(async (compressed) => {
      await compressAnswers(compressed);
      await serveCatalogue(compressed, sources);
      serveTableSchemas(compressed);
      await serveChanges(compressed, sources);
      serveSeries(compressed, { readers, series });
    });
  });
  refuseOthers();
  return app;
}

/** The server of probes and, with `servesMetrics`, of GET /metrics. */
export function buildOperatorServer(pipeline: Pipeline, servesMetrics: boolean): Promise<FastifyInstance> {
  const { config, health, processMetrics } = pipeline;
  const metrics = { sources: metricSources(pipeline), requests: processMetrics.requests };
  return buildProbes({ settings: config, health, ...(servesMetrics ? { metrics } : {}) });
}

const metricSources = (pipeline: Pipeline): ScrapeSources => {
  const { config, runtime, roles, processMetrics, aggregator, loader, health } = pipeline;
  return {
    ...runtime,
    ...{ roles, aggregator, health, settings: config },
    loads: () => loader.counters,
    metrics: listMetrics(processMetrics),
  };
};

/** The header x-attribution: public use of the data requires naming the source. */
const ATTRIBUTION = 'Chain Metrics';
