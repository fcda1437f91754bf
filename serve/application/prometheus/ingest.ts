import { Counter, Gauge, type Registry } from 'prom-client';
import type { DamageList, Store } from '../../../infra/ports.ts';
import { countDeadLetters } from '../../../ingest/dead-letters/dead-letters.ts';
import type { LoadCounters } from '../../../ingest/load/loader-metrics.ts';
import { countRefusedFacts } from '../../../ingest/raw/refused-facts.ts';

/** Registers the gauges of refused and damaged data; the returned function reads them. */
export function ingestSeries(
  registers: Registry[],
  damage: DamageList,
): (store: Pick<Store, 'rows'>) => Promise<void> {
  const letters = new Gauge({
    name: 'chain_metrics_dead_letters',
    help: 'Stored dead letters: refused lines of input.',
    registers,
  });
  const refused = new Gauge({
    name: 'chain_metrics_refused_facts',
    help: 'Refused facts of stored blocks.',
    registers,
  });
  const damaged = new Gauge({
    name: 'chain_metrics_damage',
    help: 'Damaged files that still exist; `chain-metrics check` lists them.',
    registers,
  });
  return async (store) => {
    damaged.set(damage.list().length);
    letters.set(await countDeadLetters(store));
    refused.set(await countRefusedFacts(store));
  };
}

/** Registers the counters of loads by this process; the returned function reads them. */
export function loadSeries(registers: Registry[], read: () => Readonly<LoadCounters>): () => void {
  const counters: Readonly<Record<keyof LoadCounters, Counter>> = {
    messages: new Counter({
      name: 'chain_metrics_load_messages_total',
      help: 'Messages of the log that this process loaded or refused.',
      registers,
    }),
    bytes: new Counter({
      name: 'chain_metrics_load_bytes_total',
      help: 'Bytes of the messages that this process loaded or refused.',
      registers,
    }),
    refused: new Counter({
      name: 'chain_metrics_load_refused_messages_total',
      help: 'Messages that this process refused as dead letters.',
      registers,
    }),
    failures: new Counter({
      name: 'chain_metrics_load_errors_total',
      help: 'Batches that failed and were redelivered.',
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
