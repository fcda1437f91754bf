import { closePorts } from '../close-ports.ts';
import { JOB_ATTEMPTS, JOB_BACKOFF_MS } from '../config/settings.ts';
import { SharedSequence } from '../coordination/sequence.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { DamageRegister } from '../damage-register.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { markHandled } from '../ignore.ts';
import { type Logger, openLogger } from '../logger.ts';
import type { Clock, ConsumedTopic, Runtime, Service } from '../ports.ts';
import { DistributedKeyValue } from './key-value.ts';
import { DistributedLog } from './log.ts';
import { DistributedQueue } from './queue.ts';
import { connectRedis, jobsPrefix, newRedis } from './redis.ts';
import type { DistributedSettings } from './settings.ts';
import { DistributedStore } from './store.ts';

/** Attempts to reconnect to Redis before a command fails. */
const COMMAND_RETRIES_MAX = 5;
/**
 * Idle time after which a connection of the queue is replaced. Longer than a worker waits for a job. Without it, workers
 * would wait for a vanished server until the kernel closes the connection.
 */
const JOB_SOCKET_MS = 30_000;

/** Opens the ports of the distributed profile; `connect` connects them. */
export function openDistributed(
  config: DistributedSettings,
  consumed: readonly ConsumedTopic[],
  clock: Clock,
): Runtime {
  const logger = openLogger(config);
  const store = new DistributedStore(config);
  const redis = newRedis(config, logger, {
    keyPrefix: `${config.REDIS_PREFIX}:`,
    maxRetriesPerRequest: COMMAND_RETRIES_MAX,
    commandTimeout: config.REDIS_SECONDS_MAX * 1000,
    socketTimeout: 2 * config.REDIS_SECONDS_MAX * 1000,
  });
  const keyValue = new DistributedKeyValue(redis);
  const jobs = newRedis(config, logger, {
    maxRetriesPerRequest: null,
    socketTimeout: JOB_SOCKET_MS,
  });
  const queue = new DistributedQueue({
    redis: jobs,
    prefix: jobsPrefix(config),
    attempts: JOB_ATTEMPTS,
    backoffMs: JOB_BACKOFF_MS,
    lockMs: config.LEASE_MS,
    answerMs: config.REDIS_SECONDS_MAX * 1000,
    logger,
  });
  const log = new DistributedLog(config, logger, consumed);
  const connections: Record<Service, (isNeeded: boolean) => Promise<unknown>> = {
    store: () => store.connect(),
    keyValue: () => Promise.all([connectRedis(redis, config), connectRedis(jobs, config)]),
    log: (isNeeded) => log.connect(isNeeded),
  };
  const ports = { store, log, queue, keyValue };
  return {
    ...ports,
    clock,
    warnings: [],
    damage: new DamageRegister(),
    location: config.CLICKHOUSE_URL,
    connect: (needed, used = new Set(Object.keys(connections) as Service[])) =>
      connectAll(connections, needed, used, logger),
    openSequence: async (newest) => new SharedSequence(keyValue, clock, newest),
    freeze: async () => {
      throw new ProductError(
        'usage',
        'backup works with the embedded profile only; on this one use the backups of ClickHouse (/docs/guides/backup)',
      );
    },
    close: () => closePorts(ports),
  };
}

/** Time that a start waits for services that it does not need, so that usually all are connected. */
const UNNEEDED_MS_MAX = 5000;

async function connectAll(
  connections: Readonly<Record<Service, (isNeeded: boolean) => Promise<unknown>>>,
  needed: ReadonlySet<Service>,
  used: ReadonlySet<Service>,
  logger: Logger,
): Promise<void> {
  await Promise.all(
    [...used].map(async (service) => {
      if (needed.has(service)) return connections[service](true);
      const connected = markHandled(connections[service](false));
      await withTimeout(UNNEEDED_MS_MAX, connected).catch((error) =>
        logger.warn(
          { service, reason: reasonOf(error) },
          'started without a service; retrying in the background',
        ),
      );
    }),
  );
}
