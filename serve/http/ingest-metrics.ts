import { Gauge, type Registry } from 'prom-client';
import type { DamageList, Store } from '../../infra/ports.ts';
import { countRefusedFacts } from '../../ingest/log/refused-facts.ts';
import { countSkippedHeights } from '../../ingest/sources/skipped-heights.ts';

/** Gauges of what is missing or was refused; returns how they are read. */
export function ingestMetrics(registers: Registry[], store: Store, damage: DamageList): () => Promise<void> {
  const skipped = new Gauge({
    name: 'chain_metrics_skipped_heights',
    help: 'Missing heights of a chain that its sources did not serve.',
    labelNames: ['relay_chain', 'chain'],
    registers,
  });
  const refused = new Gauge({
    name: 'chain_metrics_refused_facts',
    help: 'Facts that were refused inside blocks that are stored.',
    registers,
  });
  const damaged = new Gauge({
    name: 'chain_metrics_damage',
    help: 'Faults that were found in stored data and that nobody has dealt with; `chain-metrics check` lists them.',
    registers,
  });
  return async () => {
    damaged.set(damage.list().length);
    refused.set(await countRefusedFacts(store, undefined, { lane: 'probes' }));
    const counts = await countSkippedHeights(store, { lane: 'probes' });
    skipped.reset();
    for (const { relay_chain, chain, heights } of counts) skipped.set({ relay_chain, chain }, heights);
  };
}
