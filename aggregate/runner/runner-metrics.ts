import { Counter, Gauge, Histogram } from 'prom-client';
import { DURATION_BUCKETS } from '../../infra/runtime/port-metrics.ts';

/** Prometheus metrics of planning and computing. */
export const createRunnerMetrics = () => ({
  dirtyDays: new Gauge({
    name: 'chain_metrics_plan_dirty_dates',
    help: 'Dirty days, one for each chain and day, that the newest round found.',
    registers: [],
  }),
  planSeconds: new Histogram({
    name: 'chain_metrics_plan_duration_seconds',
    help: 'Time to find the dirty days of a round and to plan their windows.',
    buckets: DURATION_BUCKETS,
    registers: [],
  }),
  plannedWindows: new Counter({
    name: 'chain_metrics_plan_windows_total',
    help: 'Planned windows.',
    registers: [],
  }),
  failedRounds: new Counter({
    name: 'chain_metrics_compute_failed_rounds_total',
    help: 'Rounds that failed as a whole. Failures of single metrics do not count.',
    registers: [],
  }),
  windowSeconds: new Histogram({
    name: 'chain_metrics_compute_window_duration_seconds',
    help: 'Time to compute a window, failed attempts included.',
    buckets: DURATION_BUCKETS,
    registers: [],
  }),
  failedWindows: new Counter({
    name: 'chain_metrics_compute_failed_windows_total',
    help: 'Failed windows, by metric.',
    labelNames: ['metric'],
    registers: [],
  }),
});

export type RunnerMetrics = ReturnType<typeof createRunnerMetrics>;
