import { Cluster, Redis } from 'ioredis';
import { retryUntilReady } from '../coordination/retry.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { DistributedSettings } from './settings.ts';

/** A client of a single Redis, of a master behind Sentinels, or of a cluster. */
export type RedisClient = Redis | Cluster;

interface RedisClientOptions {
  readonly keyPrefix?: string;
  /** Attempts to reconnect before a command fails; null: no limit. */
  readonly maxRetriesPerRequest: number | null;
  readonly commandTimeout?: number;
  readonly socketTimeout: number;
}

type RedisSettings = Pick<
  DistributedSettings,
  'REDIS_URL' | 'REDIS_MODE' | 'REDIS_NODES' | 'REDIS_SENTINEL_NAME' | 'REDIS_SENTINEL_PASSWORD'
>;

const RECONNECT_MS_MAX = 2000;
/** Wait before a command is sent again while a cluster elects a new master. */
const FAILOVER_MS = 200;
/** A command without a limit of attempts waits 30 s for a new master. */
const REDIRECTIONS_MAX = 150;

/** Time limit of an attempt. Without it the client waits forever if the Sentinels know no master. */
const ATTEMPT_MS_MAX = 5000;

const reconnectMs = (times: number) => Math.min(50 * 2 ** Math.min(times, 10), RECONNECT_MS_MAX);

/** Creates a client; `connectRedis` connects it. */
export function newRedis(
  settings: RedisSettings,
  logger: Pick<Logger, 'debug'>,
  options: RedisClientOptions,
): RedisClient {
  const redis = clientOf(settings, options);
  redis.on('error', (error) => logger.debug({ reason: reasonOf(error) }, 'Redis'));
  return redis;
}

function clientOf(settings: RedisSettings, options: RedisClientOptions): RedisClient {
  const { REDIS_MODE, REDIS_URL, REDIS_SENTINEL_NAME: name } = settings;
  const lazyConnect = true;
  if (REDIS_MODE === 'single') {
    return new Redis(REDIS_URL, { ...options, lazyConnect, retryStrategy: reconnectMs });
  }
  const url = new URL(REDIS_URL);
  const isSecure = url.protocol === 'rediss:';
  const nodes = nodesOf(settings);
  const credentials = {
    ...(url.username && { username: decodeURIComponent(url.username) }),
    ...(url.password && { password: decodeURIComponent(url.password) }),
    ...(isSecure && { tls: {} }),
  };
  if (REDIS_MODE === 'cluster') {
    const { keyPrefix = '', maxRetriesPerRequest, ...ofNodes } = options;
    return new Cluster(nodes, {
      keyPrefix,
      lazyConnect,
      clusterRetryStrategy: reconnectMs,
      retryDelayOnFailover: FAILOVER_MS,
      retryDelayOnClusterDown: FAILOVER_MS,
      maxRedirections: maxRetriesPerRequest === null ? REDIRECTIONS_MAX : 2 * maxRetriesPerRequest,
      // Keeps host names instead of addresses, since certificates contain names.
      ...(isSecure && {
        dnsLookup: (host: string, found: (error: null, host: string) => void) => found(null, host),
      }),
      redisOptions: { ...credentials, ...ofNodes, maxRetriesPerRequest },
    });
  }
  const sentinelPassword = settings.REDIS_SENTINEL_PASSWORD;
  return new Redis({
    ...credentials,
    ...options,
    db: Number(url.pathname.slice(1)),
    sentinels: nodes,
    name,
    ...(sentinelPassword && { sentinelPassword }),
    ...(isSecure && { enableTLSForSentinelMode: true, sentinelTLS: {} }),
    // Sentinels report a new master before the connection to the old one fails.
    failoverDetector: true,
    lazyConnect,
    retryStrategy: reconnectMs,
  });
}

function nodesOf({ REDIS_NODES, REDIS_URL }: RedisSettings): { host: string; port: number }[] {
  const url = new URL(REDIS_URL);
  const listed = REDIS_NODES ?? `${url.hostname}:${url.port || 6379}`;
  return listed.split(',').map((node) => {
    const at = node.lastIndexOf(':');
    return { host: node.slice(0, at), port: Number(node.slice(at + 1)) };
  });
}

/** Resolves when Redis answers; throws at once if it refuses the credentials. The client keeps reconnecting. */
export async function connectRedis(
  redis: RedisClient,
  settings: RedisSettings & Pick<DistributedSettings, 'SERVICE_WAIT_SECONDS'>,
): Promise<void> {
  await retryUntilReady(
    redisAddress(settings),
    settings.SERVICE_WAIT_SECONDS,
    () => withTimeout(ATTEMPT_MS_MAX, connect(redis)),
    refusal,
  );
}

/** The setting with the address of Redis, without the password. */
export const redisAddress = ({ REDIS_MODE, REDIS_NODES, REDIS_URL }: RedisSettings): string =>
  REDIS_MODE === 'single' || REDIS_NODES === undefined
    ? `REDIS_URL=${withoutSecret(REDIS_URL)}`
    : `REDIS_NODES=${REDIS_NODES}`;

async function connect(redis: RedisClient): Promise<void> {
  if (redis.status === 'wait' || redis.status === 'end') await redis.connect();
  await redis.ping();
}

/** BullMQ changes several keys at once; in a cluster the hash tag in braces keeps them on one node. */
export const jobsPrefix = ({
  REDIS_MODE,
  REDIS_PREFIX,
}: Pick<DistributedSettings, 'REDIS_MODE' | 'REDIS_PREFIX'>): string =>
  REDIS_MODE === 'cluster' ? `{${REDIS_PREFIX}-jobs}` : `${REDIS_PREFIX}-jobs`;

function refusal(error: unknown): ProductError | null {
  const { lastNodeError } = error as { lastNodeError?: unknown };
  const reason = lastNodeError ? reasonOf(lastNodeError) : reasonOf(error);
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
