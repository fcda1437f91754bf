import { Gauge, type Registry } from 'prom-client';
import type { Aggregator } from '../../../aggregate/runner/aggregator.ts';
import { readFailedMetrics } from '../../../aggregate/runner/failures.ts';
import { PENDING_REASONS } from '../../../aggregate/runner/pending.ts';
import type { Clock, Store } from '../../../infra/ports.ts';

/** Gauges of the computation; returns how they are read. */
export function computeSeries(
  registers: Registry[],
  aggregator: Pick<Aggregator, 'jobs' | 'pending'>,
  clock: Clock,
): (store: Pick<Store, 'rows'>) => Promise<void> {
  const waiting = new Gauge({
    name: 'chain_metrics_compute_jobs_waiting',
    help: 'Rounds of computation that wait.',
    registers,
  });
  const failed = new Gauge({
    name: 'chain_metrics_compute_jobs_failed',
    help: 'Rounds of computation that used up their tries.',
    registers,
  });
  const pending = new Gauge({
    name: 'chain_metrics_pending_metrics',
    help: 'Metrics whose rows lack loaded data, by the reason: loaded, never_computed, recipe_changed or failed.',
    labelNames: ['reason'],
    registers,
  });
  const failing = new Gauge({
    name: 'chain_metrics_failed_metric_seconds',
    help: 'Seconds since a metric has failed without a success; absent when it has not.',
    labelNames: ['metric'],
    registers,
  });
  return async (store) => {
    const reasons = [...(await aggregator.pending(store)).values()].map(
      (ofMetric) => (ofMetric.find(({ reason }) => reason === 'failed') ?? ofMetric[0])?.reason,
    );
    for (const reason of PENDING_REASONS) {
      pending.set({ reason }, reasons.filter((one) => one === reason).length);
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
