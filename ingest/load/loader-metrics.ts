import { Histogram } from 'prom-client';
import { DURATION_BUCKETS } from '../../infra/runtime/port-metrics.ts';

/** Prometheus metrics of the loader. */
export const createLoaderMetrics = () => ({
  batchSeconds: new Histogram({
    name: 'chain_metrics_load_batch_duration_seconds',
    help: 'Duration of loading one batch of messages, failed batches included.',
    buckets: DURATION_BUCKETS,
    registers: [],
  }),
});

export type LoaderMetrics = ReturnType<typeof createLoaderMetrics>;

/** Counters of a loader since its start. */
export interface LoadCounters {
  messages: number;
  bytes: number;
  refused: number;
  failures: number;
}
