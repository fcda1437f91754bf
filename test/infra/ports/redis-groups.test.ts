import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DistributedKeyValue } from '../../../infra/distributed/key-value.ts';
import { DistributedQueue } from '../../../infra/distributed/queue.ts';
import { connectRedis, jobsPrefix, newRedis } from '../../../infra/distributed/redis.ts';
import {
  MASTER_NAME,
  type RedisGroup,
  startRedisCluster,
  startRedisSentinel,
} from '../../support/services/redis-groups.ts';
import type { Service } from '../../support/services/service.ts';
import { testConfig } from '../../support/test-config.ts';
import { keyValueContract } from './key-value.contract.ts';
import { pause, until } from './opened.ts';
import { queueContract } from './queue.contract.ts';

const silent = { debug() {}, info() {}, warn() {}, error() {} };
const LIMITED = { maxRetriesPerRequest: 5, commandTimeout: 5000, socketTimeout: 10_000 };
const FOR_JOBS = { maxRetriesPerRequest: null, socketTimeout: 30_000 };
const RULES = { attempts: 3, backoffMs: 50, lockMs: 5000, answerMs: 5000, logger: silent };
const addressOf = ({ host, port }: Service) => `${host}:${port}`;

let cluster: RedisGroup;
beforeAll(async () => {
  cluster = await startRedisCluster();
});
afterAll(() => cluster.close());

let serial = 0;
const settings = () =>
  testConfig({
    REDIS_MODE: 'cluster',
    // The others are found.
    REDIS_NODES: addressOf(cluster.services[0] as Service),
    REDIS_PREFIX: `port${++serial}`,
  });

keyValueContract('Redis Cluster', async () => {
  const config = settings();
  const redis = newRedis(config, silent, { ...LIMITED, keyPrefix: `${config.REDIS_PREFIX}:` });
  await connectRedis(redis, config);
  const port = new DistributedKeyValue(redis);
  return { port, close: () => port.close(), pass: pause };
});

queueContract('Redis Cluster', async (rules) => {
  const config = settings();
  const redis = newRedis(config, silent, FOR_JOBS);
  await connectRedis(redis, config);
  const port = new DistributedQueue({ ...RULES, ...rules, redis, prefix: jobsPrefix(config) });
  return { port, close: () => port.close() };
});

/** On a machine whose processes stand still for a while a Sentinel does nothing for 30 s (TILT mode). */
const FAILOVER_MS_MAX = 80_000;

describe('Redis behind Sentinels', () => {
  test('keys and jobs go on with the new master when the old one dies', async () => {
    await using group = await startRedisSentinel();
    const [master, , sentinel] = group.services as [Service, Service, Service];
    const config = testConfig({
      REDIS_MODE: 'sentinel',
      REDIS_NODES: addressOf(sentinel),
      REDIS_SENTINEL_NAME: MASTER_NAME,
    });
    const redis = newRedis(config, silent, { ...LIMITED, keyPrefix: `${config.REDIS_PREFIX}:` });
    const jobs = newRedis(config, silent, FOR_JOBS);
    await Promise.all([connectRedis(redis, config), connectRedis(jobs, config)]);
    const keyValue = new DistributedKeyValue(redis);
    const queue = new DistributedQueue({ ...RULES, redis: jobs, prefix: jobsPrefix(config) });
    const done = new Set<string>();
    await queue.process<string>('jobs', 1, async (data) => void done.add(data));
    await keyValue.set('a', 'before');
    await queue.add('jobs', { id: 'before', data: 'before' });
    await until('the first job is done', () => done.has('before'));

    // Replication is asynchronous; what it has not sent is lost with the master, and is rebuilt.
    await redis.wait(1, 10_000);
    await master.stop();
    const isSet = () => keyValue.set('b', 'after').catch(() => false);
    await until('the new master takes keys', isSet, FAILOVER_MS_MAX);
    // A server that was just made the master may still answer that it is read only.
    const add = () => queue.add('jobs', { id: 'after', data: 'after' });
    await until(
      'the new master takes jobs',
      () =>
        add().then(
          () => true,
          () => false,
        ),
      30_000,
    );
    await until('the second job is done', () => done.has('after'));
    expect(await keyValue.get('a')).toBe('before');
    await queue.close();
    // Nothing of it is rejected that nobody waits for.
    await expect(add()).rejects.toThrow();
    await keyValue.close();
  });

  test('a wrong name of the master is not taken for a connection', async () => {
    await using group = await startRedisSentinel();
    const config = testConfig({
      REDIS_MODE: 'sentinel',
      REDIS_NODES: addressOf(group.services[2] as Service),
      REDIS_SENTINEL_NAME: 'other',
      SERVICE_WAIT_SECONDS: '1',
    });
    const redis = newRedis(config, silent, LIMITED);
    await expect(connectRedis(redis, config)).rejects.toThrow(/^REDIS_NODES=127.0.0.1:\d+: no answer within/);
    redis.disconnect();
  });
});
