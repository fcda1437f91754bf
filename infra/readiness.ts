import { sql } from './clickhouse/sql.ts';
import type { InfraSettings } from './config/settings.ts';
import { inTime } from './coordination/in-time.ts';
import { recent } from './coordination/recent.ts';
import { unwritable } from './errors.ts';
import type { Runtime } from './ports.ts';

/** Orchestrators ask each process more often than an answer changes. */
const MAX_AGE_MS = 1000;
const WAIT_MS_MAX = 5000;

/**
 * Returns a check that throws when a service that the ports need does not answer in time, or the disk of the store is
 * full. It waits behind no query of readers or of work.
 */
export function readinessOf(
  { store, keyValue, log }: Pick<Runtime, 'store' | 'keyValue' | 'log'>,
  { DISK_FREE_BYTES_MIN }: Pick<InfraSettings, 'DISK_FREE_BYTES_MIN'>,
): () => Promise<void> {
  const check = async () => {
    const free = store.rows<{ bytes: number }>(
      sql`SELECT min(unreserved_space) AS bytes FROM system.disks WHERE type = 'Local'`,
      { lane: 'probes' },
    );
    const [[disk]] = await Promise.all([free, keyValue.get('ready'), log.lag()]);
    if (disk && disk.bytes < DISK_FREE_BYTES_MIN) throw unwritable(`${disk.bytes} bytes are free`);
  };
  return recent(MAX_AGE_MS, () => inTime(WAIT_MS_MAX, check()));
}
