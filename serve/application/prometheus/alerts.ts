import { Counter, Gauge, type Registry } from 'prom-client';
import type { AlertFigures } from '../../../aggregate/alerts/pipeline.ts';

/** Registers the metrics of the alert pipeline; the returned function sets them at each scrape. */
export function alertSeries(registers: Registry[], read: () => AlertFigures): () => void {
  const accepted = new Counter({
    name: 'chain_metrics_alert_deliveries_accepted_total',
    help: 'Alert deliveries that this process has accepted and written to the log.',
    registers,
  });
  const outcomes = new Counter({
    name: 'chain_metrics_alert_outcomes_total',
    help: 'Processed alerts and actions of users, by outcome; unmatched is a resolve or an acknowledgement without an open alert.',
    labelNames: ['outcome'],
    registers,
  });
  const setAside = new Counter({
    name: 'chain_metrics_alert_rows_set_aside_total',
    help: 'Events and alerts that were stored without the part that the store refused. If it is above 0, see the dead letters.',
    registers,
  });
  const lost = new Counter({
    name: 'chain_metrics_alert_dead_letters_lost_total',
    help: 'Dead letters of alerts that were lost because the store was unavailable for too long.',
    registers,
  });
  const bytes = new Gauge({
    name: 'chain_metrics_alert_pending_bytes',
    help: 'Bytes of accepted alerts that wait for the store.',
    registers,
  });
  const cached = new Gauge({
    name: 'chain_metrics_alert_cached_bytes',
    help: 'Approximate memory of cached alerts and deliveries, in bytes.',
    registers,
  });
  const failing = new Gauge({
    name: 'chain_metrics_alert_writer_failing',
    help: 'Whether the last attempt to store accepted alerts failed: 1 or 0.',
    registers,
  });
  const oldest = new Gauge({
    name: 'chain_metrics_alert_oldest_pending_seconds',
    help: 'Seconds that the oldest accepted alert has waited for the store; 0 if none waits.',
    registers,
  });
  return () => {
    const figures = read();
    accepted.reset();
    accepted.inc(figures.accepted);
    outcomes.reset();
    for (const [outcome, count] of Object.entries(figures.outcomes)) outcomes.inc({ outcome }, count);
    setAside.reset();
    setAside.inc(figures.setAside);
    lost.reset();
    lost.inc(figures.deadLettersLost);
    cached.set(figures.cachedBytes);
    bytes.set(figures.pendingBytes);
    failing.set(figures.isWriterFailing ? 1 : 0);
    oldest.set(figures.oldestPendingSeconds);
  };
}
