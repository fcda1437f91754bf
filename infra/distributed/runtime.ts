import { Redis } from 'ioredis';
import { systemClock } from '../clock.ts';
import type { InfraSettings } from '../config/settings.ts';
import { retryUntilReady } from '../coordination/retry.ts';
import { SharedSequence } from '../coordination/sequence.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { type Logger, openLogger } from '../logger.ts';
import type { Clock, Runtime } from '../ports.ts';
import { DistributedKeyValue } from './key-value.ts';
import { DistributedLog } from './log.ts';
import { DistributedQueue } from './queue.ts';
import { DistributedStore } from './store.ts';

const BACKOFF_MS = 200;
const RECONNECT_MS_MAX = 2000;
/** Attempts to reconnect to Redis before a command fails. */
const COMMAND_RETRIES_MAX = 5;

/** Opens the ports of the distributed profile when Kafka, Redis and ClickHouse answer. */
export async function openDistributed(
  config: InfraSettings,
  topics: readonly string[],
  clock: Clock = systemClock,
  logger: Logger = openLogger(config),
): Promise<Runtime> {
  const opened: { close(): Promise<void> }[] = [];
  const close = async () => {
    for (let next = opened.pop(); next; next = opened.pop()) await next.close();
  };
  try {
    const store = await DistributedStore.open(config);
    opened.push(store);
    const keyValue = new DistributedKeyValue(
      await openRedis(config, logger, {
        keyPrefix: `${config.REDIS_PREFIX}:`,
        maxRetriesPerRequest: COMMAND_RETRIES_MAX,
      }),
    );
    opened.push(keyValue);
    const queue = new DistributedQueue({
      redis: await openRedis(config, logger, { maxRetriesPerRequest: null }),
      prefix: `${config.REDIS_PREFIX}-jobs`,
      attempts: config.JOB_ATTEMPTS,
      backoffMs: BACKOFF_MS,
      lockMs: config.LEASE_MS,
      logger,
    });
    opened.push(queue);
    const log = await DistributedLog.open(config, logger, topics);
    opened.push(log);
    return {
      store,
      log,
      queue,
      keyValue,
      clock,
      isShared: true,
      warnings: [],
      // Kafka and ClickHouse look after their own files.
      damage: { list: () => [], add: () => undefined },
      location: config.CLICKHOUSE_URL,
      openSequence: async (newest) => new SharedSequence(keyValue, clock, newest),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Connects to Redis when it answers; throws at once when it refuses the credentials. */
async function openRedis(
  config: InfraSettings,
  logger: Logger,
  options: { keyPrefix?: string; maxRetriesPerRequest: number | null },
): Promise<Redis> {
  const redis = new Redis(config.REDIS_URL, {
    ...options,
    lazyConnect: true,
    retryStrategy: (times) => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_MS_MAX),
  });
  redis.on('error', (error) => logger.debug({ reason: reasonOf(error) }, 'Redis'));
  try {
    await retryUntilReady(
      `REDIS_URL=${withoutSecret(config.REDIS_URL)}`,
      config.SERVICE_WAIT_SECONDS,
      async () => {
        if (redis.status === 'wait' || redis.status === 'end') await redis.connect();
        await redis.ping();
      },
      refusal,
    );
    return redis;
  } catch (error) {
    redis.disconnect();
    throw error;
  }
}

function refusal(error: unknown): ProductError | null {
  const reason = reasonOf(error);
  if (!/WRONGPASS|NOAUTH|NOPERM|invalid username-password|Authentication required/i.test(reason)) return null;
  return new ProductError(
    'service_refused',
    'REDIS_URL: Redis refuses this user, its password or its rights',
    reason,
  );
}

function withoutSecret(text: string): string {
  const url = new URL(text);
  if (url.password !== '') url.password = '***';
  return url.toString();
}
