import { READY_SECONDS_MAX } from '../config/settings.ts';
import { memoizeFor } from '../coordination/memoize-for.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { ProductError, unwritable } from '../errors.ts';
import type { Runtime, Service } from '../ports.ts';
import { sql } from '../sql.ts';
import type { InfraSettings } from './settings.ts';

/** Age up to which a result is used again, since orchestrators probe more often than the answer changes. */
const MAX_AGE_MS = 1000;

/**
 * Returns a check that throws if a needed service does not answer in time or the disk of the store is full. It uses the
 * lane `probes`, and sends one request at a time to a service that does not answer. `onChecked` gets the result of each
 * service.
 */
export function createReadinessCheck(
  { store, keyValue, log }: Pick<Runtime, 'store' | 'keyValue' | 'log'>,
  settings: Pick<InfraSettings, 'DISK_FREE_BYTES_MIN'>,
  needed: ReadonlySet<Service>,
  onChecked: (service: Service, answered: boolean) => void = () => {},
): () => Promise<void> {
  const checks: Record<Service, () => Promise<unknown>> = {
    store: async () => {
      const [disk] = await store.rows<{ bytes: number }>(
        sql`SELECT min(unreserved_space) AS bytes FROM system.disks WHERE type = 'Local'`,
        { lane: 'probes' },
      );
      if (disk && disk.bytes < settings.DISK_FREE_BYTES_MIN) throw unwritable(`${disk.bytes} bytes are free`);
    },
    keyValue: () => keyValue.get('ready'),
    log: () => log.check(),
  };
  const msMax = READY_SECONDS_MAX * 1000;
  const bounded = [...needed].map((service) => {
    const check = memoizeFor(0, checks[service]);
    return async () => {
      try {
        await withTimeout(msMax, check());
        onChecked(service, true);
      } catch (error) {
        const isFull = error instanceof ProductError && error.code === 'store_unwritable';
        onChecked(service, isFull);
        if (isFull) throw error;
        throw new ProductError('service_unreachable', `${NAMES[service]} does not answer`, String(error));
      }
    };
  });
  return memoizeFor(MAX_AGE_MS, async () => {
    await Promise.all(bounded.map((check) => check()));
  });
}

const NAMES: Readonly<Record<Service, string>> = { store: 'ClickHouse', log: 'Kafka', keyValue: 'Redis' };
