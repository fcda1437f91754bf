import { Gauge, type Registry } from 'prom-client';
import { withTimeout } from '../../../infra/coordination/with-timeout.ts';
import type { Store } from '../../../infra/ports.ts';
import type { InfraSettings } from '../../../infra/runtime/settings.ts';
import { sql } from '../../../infra/sql.ts';
import { VERSION } from '../../../infra/version.ts';
import type { ProcessHealth } from '../../http/process-health.ts';
import type { HttpSettings } from '../../http/settings.ts';
import type { ProcessRole } from '../../settings/process-roles.ts';

export interface ProcessSources {
  readonly store: Store;
  readonly health: Pick<ProcessHealth, 'checkReady'>;
  readonly roles: ReadonlySet<ProcessRole>;
  readonly settings: Pick<InfraSettings, 'PROFILE' | 'DISK_FREE_BYTES_MIN'> & Pick<HttpSettings, 'REVISION'>;
}

/** The longest wait of a scrape for the services that the process needs. */
const READY_MS_MAX = 5000;

/** Registers the gauges of a process and of the disk of its store; the returned functions read them. */
export function processSeries(
  registers: Registry[],
  { store, health, roles, settings }: ProcessSources,
): { readReady(): Promise<void>; readStore(): Promise<void> } {
  const build = new Gauge({
    name: 'chain_metrics_build_info',
    help: 'Version and configuration of this process as labels; always 1. The engine is unknown until the store has answered.',
    labelNames: ['version', 'revision', 'profile', 'roles', 'node', 'engine'],
    registers,
  });
  const ready = new Gauge({
    name: 'chain_metrics_ready',
    help: 'Whether the process is ready, as in /health/ready: 1 or 0.',
    registers,
  });
  const free = new Gauge({
    name: 'chain_metrics_store_disk_free_bytes',
    help: 'Free bytes on the disk of the store; with several disks, on the fullest.',
    registers,
  });
  const size = new Gauge({
    name: 'chain_metrics_store_disk_size_bytes',
    help: 'Size of the disk of the store in bytes; with several disks, of the fullest.',
    registers,
  });
  const reserve = new Gauge({
    name: 'chain_metrics_store_disk_reserve_bytes',
    help: 'Free disk space in bytes below which the process is not ready (DISK_FREE_BYTES_MIN).',
    registers,
  });
  reserve.set(settings.DISK_FREE_BYTES_MIN);
  const constant = {
    version: VERSION,
    revision: settings.REVISION,
    profile: settings.PROFILE,
    roles: [...roles].sort().join(','),
    node: process.versions.node,
  };
  build.set({ ...constant, engine: 'unknown' }, 1);
  return {
    readReady: async () => {
      const isReady = withTimeout(READY_MS_MAX, health.checkReady()).then(
        () => 1,
        () => 0,
      );
      ready.set(await isReady);
    },
    readStore: async () => {
      const [disk] = await store.rows<{ engine: string; disks: number; free: number; size: number }>(
        sql`SELECT version() AS engine, count() AS disks, min(unreserved_space) AS free,
          argMin(total_space, unreserved_space) AS size FROM system.disks WHERE type = 'Local'`,
        { lane: 'probes' },
      );
      if (!disk) return;
      build.reset();
      build.set({ ...constant, engine: disk.engine }, 1);
      if (disk.disks === 0) return;
      free.set(disk.free);
      size.set(disk.size);
    },
  };
}
