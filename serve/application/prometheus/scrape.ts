import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, type Metric, Registry } from 'prom-client';
import { z } from 'zod';
import type { AlertFigures } from '../../../aggregate/alerts/pipeline.ts';
import type { Aggregator } from '../../../aggregate/runner/aggregator.ts';
import { memoizeFor } from '../../../infra/coordination/memoize-for.ts';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import type { Clock, DamageList, Log } from '../../../infra/ports.ts';
import type { Sql } from '../../../infra/sql.ts';
import type { LoadCounters } from '../../../ingest/load/loader-metrics.ts';
import { problemResponse } from '../../http/responses.ts';
import { route } from '../../http/route.ts';
import { alertSeries } from './alerts.ts';
import { chainSeries } from './chains.ts';
import { computeSeries } from './compute.ts';
import { ingestSeries, loadSeries } from './ingest.ts';
import { logSeries } from './log.ts';
import { type ProcessSources, processSeries } from './process.ts';

/** The sources of the metrics. */
export interface ScrapeSources extends ProcessSources {
  readonly clock: Clock;
  readonly log: Pick<Log, 'lag'>;
  readonly damage: DamageList;
  readonly aggregator: Pick<Aggregator, 'jobs' | 'pending' | 'chainsAsOf'>;
  /** Counters since the start of this process. */
  readonly loads: () => Readonly<LoadCounters>;
  /** Present in a process that receives alerts. */
  readonly alerts?: () => AlertFigures;
  /** Waiting queries; present in a process that serves readers. */
  readonly readersWaiting?: () => number;
  /** Metrics that the domains record as things happen. */
  readonly metrics: readonly Metric[];
}

/** Gauges of prom-client that have the suffix of counters, `_total`. They are not exported. */
const MISNAMED = [
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
  'nodejs_active_resources_total',
];

/** Serves GET /metrics. Gauges of the store and the log are read at each scrape. */
export async function servePrometheus(app: FastifyInstance, sources: ScrapeSources): Promise<void> {
  const registers = [new Registry()] as [Registry];
  const [registry] = registers;
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  for (const metric of sources.metrics) registry.registerMetric(metric);
  const readServices = serviceSeries(sources, registers);
  const readProcess = localSeries(sources, registers);
  route(
    app,
    {
      method: 'GET',
      path: '/metrics',
      tag: 'For operators',
      summary: 'Metrics for Prometheus',
      responses: {
        200: {
          description: 'In the text format of Prometheus',
          content: { 'text/plain': { schema: z.string(), example: EXAMPLE } },
        },
        503: problemResponse('The server is busy'),
      },
    },
    async ({ reply }) => {
      readProcess();
      await readServices();
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

/** Longest age of metrics that are read from services, and longest wait of a scrape for them. */
const DATA_MS_MAX = 1000;
const WAIT_MS_MAX = 5000;

const EXAMPLE = `# HELP chain_metrics_dead_letters Stored dead letters: refused lines of input.
# TYPE chain_metrics_dead_letters gauge
chain_metrics_dead_letters 0
`;

/** Metrics of this process. */
function localSeries({ loads, alerts, readersWaiting }: ScrapeSources, registers: Registry[]): () => void {
  const readLoads = loadSeries(registers, loads);
  const readAlerts = alerts && alertSeries(registers, alerts);
  const waiting = new Gauge({
    name: 'chain_metrics_reader_queries_waiting',
    help: 'Queries of readers that wait for a connection.',
    registers,
  });
  return () => {
    readLoads();
    readAlerts?.();
    waiting.set(readersWaiting?.() ?? 0);
  };
}

/** Metrics that are read from the store and the log. */
function serviceSeries(sources: ScrapeSources, registers: Registry[]): () => Promise<void> {
  const { store, clock, log, damage, aggregator } = sources;
  const failures = new Counter({
    name: 'chain_metrics_scrape_failures_total',
    help: 'Scrapes that could not read the store or the log in time, and returned older values.',
    registers,
  });
  const { readReady, readStore } = processSeries(registers, sources);
  const readLog = logSeries(registers, log);
  const readComputation = computeSeries(registers, aggregator, clock);
  const readIngest = ingestSeries(registers, damage);
  const readChains = chainSeries(registers, aggregator);
  const probes = { rows: <Row>(query: Sql) => store.rows<Row>(query, { lane: 'probes' }) };
  const stored = memoizeFor(DATA_MS_MAX, () =>
    withTimeout(
      WAIT_MS_MAX,
      (async () => {
        await readStore();
        await readChains(probes);
        await readIngest(probes);
        await readComputation(probes);
      })(),
    ),
  );
  const ready = memoizeFor(DATA_MS_MAX, readReady);
  return async () => {
    const isRead = await Promise.all([
      readLog(),
      stored().then(
        () => true,
        () => false,
      ),
      ready(),
    ]);
    if (isRead.includes(false)) failures.inc();
  };
}
