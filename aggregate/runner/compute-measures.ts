import { Counter, Gauge, Histogram } from 'prom-client';
import { WORK_SECONDS } from '../../infra/measured-ports.ts';
import { COMPUTE_LANES } from './lanes.ts';

const LANE = 'lane (live: the last days; backfill: all days before them)';

/** What planning and computing measure. */
export const computeMeasures = () => {
  const measures = {
    dirtyDays: new Gauge({
      name: 'chain_metrics_plan_dirty_dates',
      help: `Dirty days of chains that the newest round found, by ${LANE}.`,
      labelNames: ['lane'],
      registers: [],
    }),
    planSeconds: new Histogram({
      name: 'chain_metrics_plan_duration_seconds',
      help: 'Time to find the dirty days of a round and to plan their windows.',
      labelNames: ['lane'],
      buckets: WORK_SECONDS,
      registers: [],
    }),
    plannedWindows: new Counter({
      name: 'chain_metrics_plan_windows_total',
      help: 'Windows that were planned.',
      labelNames: ['lane'],
      registers: [],
    }),
    failedRounds: new Counter({
      name: 'chain_metrics_compute_failed_rounds_total',
      help: 'Rounds that ended with an error, other than those of single metrics.',
      labelNames: ['lane'],
      registers: [],
    }),
    windowSeconds: new Histogram({
      name: 'chain_metrics_compute_window_duration_seconds',
      help: 'Time to compute a window, or to fail with it.',
      labelNames: ['lane'],
      buckets: WORK_SECONDS,
      registers: [],
    }),
    failedWindows: new Counter({
      name: 'chain_metrics_compute_failed_windows_total',
      help: 'Windows that could not be computed, by metric and lane.',
      labelNames: ['metric', 'lane'],
      registers: [],
    }),
  };
  for (const lane of COMPUTE_LANES) {
    measures.plannedWindows.inc({ lane }, 0);
    measures.failedRounds.inc({ lane }, 0);
  }
  return measures;
};

export type ComputeMeasures = ReturnType<typeof computeMeasures>;
