import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { until } from '../../infra/ports/opened.ts';
import { freePort, isInstalled, processService, type Service } from './service.ts';

/** Several processes of Redis that belong together. */
export interface RedisGroup extends AsyncDisposable {
  readonly services: readonly Service[];
  close(): Promise<void>;
}

const MASTERS = 3;
const SLOTS = 16_384;
const START_MS_MAX = 20_000;

/** Redis Cluster of three masters. */
export async function startRedisCluster(): Promise<RedisGroup> {
  const buses = await Promise.all(Array.from({ length: MASTERS }, freePort));
  const services = await Promise.all(
    buses.map((bus) => server(['--cluster-enabled', 'yes', '--cluster-port', String(bus)])),
  );
  await Promise.all(
    services.map((service, i) =>
      asking(service, async (redis) => {
        const [first, last] = [i, i + 1].map((n) => Math.floor((n * SLOTS) / MASTERS)) as [number, number];
        await redis.cluster('ADDSLOTSRANGE', first, last - 1);
        for (const [j, { port }] of services.entries())
          await redis.call('CLUSTER', 'MEET', '127.0.0.1', port, buses[j] as number);
      }),
    ),
  );
  for (const service of services)
    await asking(service, (redis) =>
      until(
        'the cluster is complete',
        async () => {
          const info = (await redis.cluster('INFO')) as string;
          return info.includes('cluster_state:ok') && info.includes(`cluster_size:${MASTERS}`);
        },
        START_MS_MAX,
      ),
    );
  return groupOf(services);
}

export const MASTER_NAME = 'main';

/** A master, a replica, and one Sentinel that makes the replica the master within seconds; in this order. */
export async function startRedisSentinel(): Promise<RedisGroup> {
  // It does not wait for more replicas before it sends what it has.
  const master = await server(['--repl-diskless-sync-delay', '0']);
  const replica = await server(['--replicaof', '127.0.0.1', String(master.port)]);
  // A Sentinel asks the master for its replicas when it starts, and then every ten seconds.
  await asking(replica, (redis) =>
    until(
      'the replica follows',
      async () => (await redis.info('replication')).includes('master_link_status:up'),
      START_MS_MAX,
    ),
  );
  const sentinel = await server(
    ['--sentinel'],
    [
      `sentinel monitor ${MASTER_NAME} 127.0.0.1 ${master.port} 1`,
      `sentinel down-after-milliseconds ${MASTER_NAME} 1000`,
      `sentinel failover-timeout ${MASTER_NAME} 5000`,
    ],
  );
  await asking(sentinel, (redis) =>
    until(
      'the Sentinel knows the replica',
      async () => ((await redis.call('SENTINEL', 'REPLICAS', MASTER_NAME)) as unknown[]).length === 1,
      START_MS_MAX,
    ),
  );
  return groupOf([master, replica, sentinel]);
}

async function server(flags: readonly string[], lines: readonly string[] = []): Promise<Service> {
  if (!(await isInstalled('redis-server'))) throw new Error('redis-server is not installed');
  const port = await freePort();
  const dir = mkdtempSync(join(tmpdir(), 'chain-metrics-redis-'));
  const file = join(dir, 'redis.conf');
  // A Sentinel writes what it learns into its file.
  writeFileSync(file, `${[`port ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...lines].join('\n')}\n`);
  return processService({
    port,
    command: 'redis-server',
    args: [file, ...flags],
    answers: () => probe(port),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  });
}

async function probe(port: number): Promise<void> {
  const redis = new Redis(port, '127.0.0.1', { lazyConnect: true, retryStrategy: null });
  redis.on('error', () => undefined);
  try {
    await redis.connect();
    await redis.ping();
  } finally {
    redis.disconnect();
  }
}

async function asking<T>({ port }: Service, ask: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(port, '127.0.0.1');
  try {
    return await ask(redis);
  } finally {
    redis.disconnect();
  }
}

function groupOf(services: readonly Service[]): RedisGroup {
  const close = async () => {
    await Promise.all(services.map((service) => service.close()));
  };
  return { services, close, [Symbol.asyncDispose]: close };
}
