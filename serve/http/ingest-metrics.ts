import { Gauge, type Registry } from 'prom-client';
import type { Store } from '../../infra/ports.ts';
import { countSkippedHeights } from '../../ingest/sources/skipped-heights.ts';

/** Gauges of what is missing or was refused; returns how they are read. */
export function ingestMetrics(registers: Registry[], store: Store): () => Promise<void> {
  const skipped = new Gauge({
    name: 'chain_metrics_skipped_heights',
    help: 'Missing heights of a chain that its sources did not serve.',
    labelNames: ['relay_chain', 'chain'],
    registers,
  });
  return async () => {
    const counts = await countSkippedHeights(store, { lane: 'probes' });
    skipped.reset();
    for (const { relay_chain, chain, heights } of counts) skipped.set({ relay_chain, chain }, heights);
  };
}
