import { Counter, Gauge, type Registry } from 'prom-client';
import type { DamageList, Store } from '../../../infra/ports.ts';
import { countDeadLetters } from '../../../ingest/dead-letters/dead-letters.ts';
import type { LoadCounters } from '../../../ingest/load/loader-metrics.ts';
import { countRefusedFacts } from '../../../ingest/raw/refused-facts.ts';

/** Gauges of what was refused or damaged; returns how they are read. */
export function ingestSeries(
  registers: Registry[],
  damage: DamageList,
): (store: Pick<Store, 'rows'>) => Promise<void> {
  const letters = new Gauge({
    name: 'chain_metrics_dead_letters',
    help: 'Refused lines that are kept.',
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
  return async (store) => {
    damaged.set(damage.list().length);
    letters.set(await countDeadLetters(store));
    refused.set(await countRefusedFacts(store));
  };
}

/** Counters of what this process has loaded since its start; returns how they are read. */
export function loadSeries(registers: Registry[], read: () => Readonly<LoadCounters>): () => void {
  const counters: Readonly<Record<keyof LoadCounters, Counter>> = {
    messages: new Counter({
      name: 'chain_metrics_load_messages_total',
      help: 'Messages of the log that this process has loaded or refused.',
      registers,
    }),
    bytes: new Counter({
      name: 'chain_metrics_load_bytes_total',
      help: 'Bytes of these messages.',
      registers,
    }),
    refused: new Counter({
      name: 'chain_metrics_load_refused_messages_total',
      help: 'Messages that became dead letters.',
      registers,
    }),
    failures: new Counter({
      name: 'chain_metrics_load_errors_total',
      help: 'Batches that failed and were delivered again.',
      registers,
    }),
  };
  return () => {
    for (const [name, count] of Object.entries(read())) {
      const counter = counters[name as keyof LoadCounters];
      counter.reset();
      counter.inc(count);
    }
  };
}
