import { rmSync } from 'node:fs';
import { closePorts } from '../close-ports.ts';
import { JOB_ATTEMPTS, JOB_BACKOFF_MS, type PortSettings } from '../config/settings.ts';
import { Sequence } from '../coordination/sequence.ts';
import type { Clock, Runtime, TopicDefinition } from '../ports.ts';
import { readBrokenParts } from './broken-parts.ts';
import { DamagedFiles } from './damage.ts';
import { createFreeze } from './freeze.ts';
import { EmbeddedKeyValue } from './key-value.ts';
import { EmbeddedLog } from './log.ts';
import { EmbeddedQueue } from './queue.ts';
import { EmbeddedStore } from './store.ts';

/** Opens the ports of the embedded profile: one process and one data directory, without services. */
export async function openEmbedded(
  config: PortSettings,
  topics: readonly TopicDefinition[],
  clock: Clock,
): Promise<Runtime> {
  const store = await EmbeddedStore.open(config);
  const damage = new DamagedFiles(config.DATA_DIR);
  const broken = await readBrokenParts(store);
  for (const part of broken.damage) damage.add(part);
  for (const path of broken.leftovers) rmSync(path, { recursive: true, force: true });
  const log = new EmbeddedLog({
    stored: topics.filter(({ isStored }) => isStored).map(({ topic }) => topic),
    dataDirectory: config.DATA_DIR,
    fsync: config.STORE_FSYNC,
  });
  const queue = new EmbeddedQueue({ attempts: JOB_ATTEMPTS, backoffMs: JOB_BACKOFF_MS });
  const keyValue = new EmbeddedKeyValue(clock);
  const ports = { store, log, queue, keyValue };
  return {
    ...ports,
    clock,
    location: config.DATA_DIR,
    warnings: store.warnings,
    damage,
    connect: async () => undefined,
    openSequence: async (newest) => new Sequence(clock, await newest()),
    freeze: createFreeze(store, log, config.DATA_DIR),
    close: () => closePorts(ports),
  };
}
