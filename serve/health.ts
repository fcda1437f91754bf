import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { Engine } from '../aggregate/engine.ts';
import { chainDay } from '../aggregate/metrics/chain-day.ts';
import { sql } from '../infra/kernel/sql.ts';
import { deadLetters } from '../ingest/streams/raw.ts';
import { HttpError } from './errors.ts';

/** Probes for whoever runs the service: is it alive, can it answer, and figures for Prometheus. */
export async function serveHealth(app: FastifyInstance, engine: Engine): Promise<void> {
  const operators = { tags: ['For operators'] };
  app.get('/health/live', { schema: { ...operators, summary: 'The process runs' } }, async () => ({
    status: 'ok',
  }));
  app.get('/health/ready', { schema: { ...operators, summary: 'The store answers' } }, async () => {
    try {
      await engine.runtime.store.rows(sql`SELECT 1`);
    } catch {
      throw new HttpError(503, 'The store does not answer.', { 'retry-after': '5' });
    }
    return { status: 'ok' };
  });

  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const seconds = new Histogram({
    name: 'chain_metrics_http_request_duration_seconds',
    help: 'Time to answer a request, by route and status.',
    labelNames: ['route', 'status'],
    buckets: [0.0005, 0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [registry],
  });
  const served = new Counter({
    name: 'chain_metrics_http_response_bytes_total',
    help: 'Bytes of answers.',
    registers: [registry],
  });
  const lag = new Gauge({
    name: 'chain_metrics_chain_lag_seconds',
    help: 'Seconds since the newest stored block of a chain.',
    labelNames: ['relay_chain', 'chain'],
    registers: [registry],
  });
  const letters = new Gauge({
    name: 'chain_metrics_dead_letters',
    help: 'Refused lines that are kept.',
    registers: [registry],
  });
  const waiting = new Gauge({
    name: 'chain_metrics_compute_jobs_waiting',
    help: 'Rounds of computation that wait.',
    registers: [registry],
  });
  app.addHook('onResponse', (request, reply, next) => {
    seconds.observe(
      { route: request.routeOptions.url ?? 'none', status: String(reply.statusCode) },
      reply.elapsedTime / 1000,
    );
    served.inc(Number(reply.getHeader('content-length') ?? 0));
    next();
  });
  app.get(
    '/metrics',
    { schema: { ...operators, summary: 'Figures for Prometheus' } },
    async (_request, reply) => {
      const { store, queue, clock } = engine.runtime;
      const newest = await store.rows<{ relay_chain: string; chain: string; newest: number }>(
        sql`SELECT relay_chain, chain, toUnixTimestamp64Milli(max(last_time)) AS newest FROM ${chainDay.table} FINAL GROUP BY relay_chain, chain`,
      );
      for (const row of newest) {
        lag.set(
          { relay_chain: row.relay_chain, chain: row.chain },
          Math.max(0, (clock.now() - row.newest) / 1000),
        );
      }
      const [kept] = await store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${deadLetters} FINAL`);
      letters.set(kept?.n ?? 0);
      waiting.set(await queue.waiting('compute'));
      return reply.type(registry.contentType).send(await registry.metrics());
    },
  );
}
