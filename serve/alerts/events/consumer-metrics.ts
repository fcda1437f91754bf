import { Gauge, Histogram } from 'prom-client';

/** Metrics of incidents, webhooks and on-call links. */
export const createConsumerMetrics = () => {
  const metrics = {
    lateness: new Histogram({
      name: 'chain_metrics_alert_consequence_lateness_seconds',
      help: 'Seconds from the acceptance of an alert event to its incident, or to the response of its webhook or on-call link.',
      labelNames: ['consequence'],
      buckets: [0.1, 0.5, 1, 5, 15, 60, 300, 3600, 86_400],
      registers: [],
    }),
    attemptSeconds: new Histogram({
      name: 'chain_metrics_webhook_attempt_duration_seconds',
      help: 'Duration of requests to webhooks and on-call links, by result (accepted, failed).',
      labelNames: ['result'],
      buckets: [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30],
      registers: [],
    }),
    receivers: new Gauge({
      name: 'chain_metrics_webhook_receivers',
      help: 'Webhooks and on-call links with unsent events, by state (waiting, failing). The same on all servers; updated every 30 seconds.',
      labelNames: ['state'],
      registers: [],
    }),
    heartbeats: new Gauge({
      name: 'chain_metrics_heartbeats',
      help: 'Watched beats of integrations, by state (heard, missing), at the last check of this process.',
      labelNames: ['state'],
      registers: [],
    }),
  };
  for (const state of ['heard', 'missing']) metrics.heartbeats.set({ state }, 0);
  for (const result of ['accepted', 'failed']) metrics.attemptSeconds.zero({ result });
  for (const state of ['waiting', 'failing']) metrics.receivers.set({ state }, 0);
  return metrics;
};

export type ConsumerMetrics = ReturnType<typeof createConsumerMetrics>;
