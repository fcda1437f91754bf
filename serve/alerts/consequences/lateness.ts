import { Histogram } from 'prom-client';

/** Seconds from the acceptance of an event to a consequence of it. */
export type Lateness = Histogram<'consequence'>;

export const measureLateness = (): Lateness =>
  new Histogram({
    name: 'chain_metrics_alert_consequence_lateness_seconds',
    help: 'Seconds from the acceptance of an alert event to its incident, or to the answer of a receiver.',
    labelNames: ['consequence'],
    buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 3600, 86_400],
    registers: [],
  });
