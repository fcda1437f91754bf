import { Counter, Gauge } from 'prom-client';

/** Prometheus metrics of the answer cache. */
export const createAnswerCacheMetrics = () => {
  const cacheMetrics = {
    lookups: new Counter({
      name: 'chain_metrics_answer_cache_requests_total',
      help: 'Requests to the metrics API by cache result: hit or miss.',
      labelNames: ['result'],
      registers: [],
    }),
    bytes: new Gauge({
      name: 'chain_metrics_answer_cache_size_bytes',
      help: 'Size of the cached responses in bytes.',
      registers: [],
    }),
  };
  for (const result of ['hit', 'miss']) cacheMetrics.lookups.inc({ result }, 0);
  return cacheMetrics;
};

export type AnswerCacheMetrics = ReturnType<typeof createAnswerCacheMetrics>;
