import { Redis } from 'ioredis';
import { afterAll, beforeAll } from 'vitest';
import { systemClock } from '../../../infra/clock.ts';
import { DistributedKeyValue } from '../../../infra/distributed/key-value.ts';
import { DistributedLog } from '../../../infra/distributed/log.ts';
import { DistributedQueue } from '../../../infra/distributed/queue.ts';
import { DistributedStore } from '../../../infra/distributed/store.ts';
import { readConfig } from '../../../serve/settings.ts';
import { startClickHouse } from '../../support/services/clickhouse.ts';
import { startKafka } from '../../support/services/kafka.ts';
import { startRedis } from '../../support/services/redis.ts';
import type { Service } from '../../support/services/service.ts';
import { clockContract } from './clock.contract.ts';
import { consumeContract } from './consume.contract.ts';
import { keyValueContract } from './key-value.contract.ts';
import { logContract } from './log.contract.ts';
import { pause } from './opened.ts';
import { queueContract } from './queue.contract.ts';
import { storeContract } from './store.contract.ts';

let redis: Service;
let kafka: Service;
let clickhouse: Service;
beforeAll(async () => {
  [redis, kafka, clickhouse] = await Promise.all([startRedis(), startKafka(), startClickHouse()]);
});
afterAll(() => Promise.all([redis.close(), kafka.close(), clickhouse.close()]));

const config = (more: Record<string, string> = {}) =>
  readConfig({
    PROFILE: 'distributed',
    KAFKA_BROKERS: `${kafka.host}:${kafka.port}`,
    KAFKA_PARTITIONS: '3',
    CLICKHOUSE_URL: `http://${clickhouse.host}:${clickhouse.port}`,
    ...more,
  });

const silent = { debug() {}, info() {}, warn() {}, error() {} };
let serial = 0;
const prefix = () => `port${++serial}`;

clockContract('system', async () => ({ port: systemClock, close: async () => {} }));

keyValueContract('distributed', async () => {
  const port = new DistributedKeyValue(new Redis(redis.port, redis.host, { keyPrefix: `${prefix()}:` }));
  return { port, close: () => port.close(), pass: pause };
});

queueContract('distributed', async (rules) => {
  const connection = new Redis(redis.port, redis.host, { maxRetriesPerRequest: null });
  const port = new DistributedQueue({
    ...rules,
    redis: connection,
    prefix: prefix(),
    lockMs: 5000,
    logger: silent,
  });
  return { port, close: () => port.close() };
});

logContract('distributed', async () => {
  const port = await DistributedLog.open(config({ KAFKA_PREFIX: `${prefix()}.` }), silent);
  return { port, close: () => port.close() };
});

consumeContract('distributed', async () => {
  const settings = config({ KAFKA_PREFIX: `${prefix()}.` });
  let port = await DistributedLog.open(settings, silent);
  return {
    port,
    reopen: async () => {
      await port.close();
      port = await DistributedLog.open(settings, silent);
      return port;
    },
    close: () => port.close(),
  };
});

storeContract(
  'distributed',
  async () => {
    let store = await DistributedStore.open(config());
    return {
      port: store,
      reopen: async () => {
        await store.close();
        store = await DistributedStore.open(config());
        return store;
      },
      close: () => store.close(),
    };
  },
  {
    losesStaged:
      'the log delivers the messages again, perhaps to another process that has loaded newer ones meanwhile',
  },
);
