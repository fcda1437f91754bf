import { Gauge, type Registry } from 'prom-client';
import type { Aggregator } from '../../../aggregate/runner/aggregator.ts';
import { readFailedMetrics } from '../../../aggregate/runner/failures.ts';
import { PENDING_REASONS } from '../../../aggregate/runner/pending.ts';
import type { Clock, Store } from '../../../infra/ports.ts';

/** Registers the gauges of the computation; the returned function reads them. */
export function computeSeries(
  registers: Registry[],
  aggregator: Pick<Aggregator, 'jobs' | 'pending'>,
  clock: Clock,
): (store: Pick<Store, 'rows'>) => Promise<void> {
  const waiting = new Gauge({
    name: 'chain_metrics_compute_jobs_waiting',
    help: 'Waiting rounds of computation.',
    registers,
  });
  const failed = new Gauge({
    name: 'chain_metrics_compute_jobs_failed',
    help: 'Rounds of computation that failed after all retries.',
    registers,
  });
  const pending = new Gauge({
    name: 'chain_metrics_pending_metrics',
    help: 'Metrics that lack loaded data, by reason: loaded, never_computed, recipe_changed or failed.',
    labelNames: ['reason'],
    registers,
  });
  const failing = new Gauge({
    name: 'chain_metrics_failed_metric_seconds',
    help: 'Seconds since the first failure of a metric that still fails; absent for other metrics.',
    labelNames: ['metric'],
    registers,
  });
  return async (store) => {
    const reasons = [...(await aggregator.pending(store)).values()].map(
      (ofMetric) => (ofMetric.find(({ reason }) => reason === 'failed') ?? ofMetric[0])?.reason,
    );
    for (const reason of PENDING_REASONS) {
      pending.set({ reason }, reasons.filter((other) => other === reason).length);
    }
    failing.reset();
    for (const { metric, failed_since } of await readFailedMetrics(store)) {
      failing.set({ metric }, Math.max(0, (clock.now() - Date.parse(failed_since)) / 1000));
    }
    const jobs = await aggregator.jobs();
    waiting.set(jobs.waiting);
    failed.set(jobs.failed.length);
  };
}
