import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, type Metric, Registry } from 'prom-client';
import { z } from 'zod';
import type { AlertFigures } from '../../aggregate/alerts/pipeline.ts';
import { chainDay } from '../../aggregate/metrics/activity/chain-day.ts';
import type { Aggregator } from '../../aggregate/runner/aggregator.ts';
import { type Sql, sql } from '../../infra/clickhouse/sql.ts';
import { inTime } from '../../infra/coordination/in-time.ts';
import { recent } from '../../infra/coordination/recent.ts';
import type { Clock, DamageList, Log, Store } from '../../infra/ports.ts';
import type { LoadCounters } from '../../ingest/loader.ts';
import { deadLetters } from '../../ingest/raw/tables.ts';
import { alertMetrics } from './alert-metrics.ts';
import { computeMetrics } from './compute-metrics.ts';
import { ingestMetrics } from './ingest-metrics.ts';
import { logMetrics } from './log-metrics.ts';
import { problemResponse } from './responses.ts';
import { route } from './route.ts';

/** What the gauges read when Prometheus scrapes them. */
export interface MetricSources {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Pick<Log, 'lag'>;
  readonly damage: DamageList;
  readonly aggregator: Pick<Aggregator, 'jobs' | 'pending'>;
  /** What this process has loaded since its start. */
  readonly loads: () => Readonly<LoadCounters>;
  /** Of a process that receives alerts. */
  readonly alerts?: () => AlertFigures;
  /** What the domains measure themselves. */
  readonly measures?: readonly Metric[];
}

/** Serves metrics to Prometheus: of requests as they are answered, of the data at each scrape. */
export async function servePrometheusMetrics(app: FastifyInstance, sources: MetricSources): Promise<void> {
  const registers = [new Registry()] as [Registry];
  const [registry] = registers;
  collectDefaultMetrics({ register: registry });
  watchRequests(app, registers);
  for (const measure of sources.measures ?? []) registry.registerMetric(measure);
  const readData = dataMetrics(sources, registers);
  const readAlerts = sources.alerts && alertMetrics(registers, sources.alerts);
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
      readAlerts?.();
      await readData();
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}

/** Age of the metrics that are read from the services, and the time that a scrape waits for them. */
const DATA_MS_MAX = 1000;
const WAIT_MS_MAX = 5000;

const EXAMPLE = `# HELP chain_metrics_dead_letters Refused lines that are kept.
# TYPE chain_metrics_dead_letters gauge
chain_metrics_dead_letters 0
`;

function watchRequests(app: FastifyInstance, registers: Registry[]): void {
  const seconds = new Histogram({
    name: 'chain_metrics_http_request_duration_seconds',
    help: 'Time to answer a request, by route and status.',
    labelNames: ['route', 'status'],
    buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  });
  const served = new Counter({
    name: 'chain_metrics_http_response_bytes_total',
    help: 'Bytes of answers.',
    registers,
  });
  app.addHook('onResponse', (request, reply, next) => {
    const labels = { route: request.routeOptions.url ?? 'none', status: String(reply.statusCode) };
    seconds.observe(labels, reply.elapsedTime / 1000);
    served.inc(Number(reply.getHeader('content-length') ?? 0));
    next();
  });
}

function dataMetrics(
  { store, clock, log, damage, aggregator, loads }: MetricSources,
  registers: Registry[],
): () => Promise<void> {
  const lag = new Gauge({
    name: 'chain_metrics_chain_lag_seconds',
    help: 'Seconds since the newest stored block of a chain.',
    labelNames: ['relay_chain', 'chain'],
    registers,
  });
  const deadLetterCount = new Gauge({
    name: 'chain_metrics_dead_letters',
    help: 'Refused lines that are kept.',
    registers,
  });
  const loaded = new Counter({
    name: 'chain_metrics_loaded_total',
    help: 'What this process has taken from the log: messages and their bytes, batches, refused messages, batches that failed.',
    labelNames: ['what'],
    registers,
  });
  const failures = new Counter({
    name: 'chain_metrics_scrape_failures_total',
    help: 'Scrapes in which the data could not be read in time: their metrics are those of an earlier scrape.',
    registers,
  });
  const readLog = logMetrics(registers, log);
  const readComputation = computeMetrics(registers, aggregator, clock);
  const readIngest = ingestMetrics(registers, store, damage);
  const probes = { rows: <Row>(query: Sql) => store.rows<Row>(query, { lane: 'probes' }) };
  const readStored = async () => {
    const newest = await store.rows<{ relay_chain: string; chain: string; newest: number }>(
      sql`SELECT relay_chain, chain, toUnixTimestamp64Milli(max(last_time)) AS newest
        FROM ${chainDay.table} FINAL GROUP BY relay_chain, chain`,
      { lane: 'probes' },
    );
    for (const { relay_chain, chain, newest: time } of newest) {
      lag.set({ relay_chain, chain }, Math.max(0, (clock.now() - time) / 1000));
    }
    const [letters] = await store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${deadLetters} FINAL`, {
      lane: 'probes',
    });
    deadLetterCount.set(letters?.n ?? 0);
    await readIngest();
    await readComputation(probes);
  };
  const stored = recent(DATA_MS_MAX, () => inTime(WAIT_MS_MAX, readStored()));
  return async () => {
    loaded.reset();
    for (const [what, count] of Object.entries(loads())) loaded.inc({ what }, count);
    const isRead = await Promise.all([
      readLog(),
      stored().then(
        () => true,
        () => false,
      ),
    ]);
    if (isRead.includes(false)) failures.inc();
  };
}
