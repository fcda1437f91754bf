import { closePorts } from '../close-ports.ts';
import { type InfraSettings, JOB_BACKOFF_MS } from '../config/settings.ts';
import { Sequence } from '../coordination/sequence.ts';
import type { Clock, Runtime, TopicDefinition } from '../ports.ts';
import { NO_TRACER } from '../tracing/tracer.ts';
import { DamageReport } from './damage.ts';
import { freezeOf } from './freeze.ts';
import { EmbeddedKeyValue } from './key-value.ts';
import { EmbeddedLog } from './log.ts';
import { EmbeddedQueue } from './queue.ts';
import { EmbeddedStore } from './store.ts';

/** Opens the ports of the embedded profile: one process and one data directory, without services. */
export async function openEmbedded(
  config: InfraSettings,
  topics: readonly TopicDefinition[],
  clock: Clock,
): Promise<Runtime> {
  const damage = new DamageReport(config.DATA_DIR);
  const store = await EmbeddedStore.open(config, damage);
  const log = new EmbeddedLog({
    stored: topics.filter(({ isStored }) => isStored).map(({ topic }) => topic),
    dataDirectory: config.DATA_DIR,
    fsync: config.STORE_FSYNC,
    damage,
  });
  const queue = new EmbeddedQueue({ attempts: config.JOB_ATTEMPTS, backoffMs: JOB_BACKOFF_MS });
  const keyValue = new EmbeddedKeyValue(clock);
  const ports = { store, log, queue, keyValue };
  return {
    ...ports,
    clock,
    tracer: NO_TRACER,
    location: config.DATA_DIR,
    warnings: store.warnings,
    damage,
    connect: async () => undefined,
    openSequence: async (newest) => new Sequence(clock, await newest()),
    freeze: freezeOf(store, log, config.DATA_DIR),
    close: () => closePorts(ports),
  };
}
