import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../infra/clock.ts';
import { DistributedKeyValue } from '../../../infra/distributed/key-value.ts';
import { DistributedLog } from '../../../infra/distributed/log.ts';
import { DistributedQueue } from '../../../infra/distributed/queue.ts';
import { checkClickHouse, checkKafka, checkRedis } from '../../../infra/distributed/services-check.ts';
import { DistributedStore } from '../../../infra/distributed/store.ts';
import { type Finding, fine } from '../../../infra/finding.ts';
import type { LogRecord } from '../../../infra/ports.ts';
import { startClickHouse } from '../../support/services/clickhouse.ts';
import { startKafka } from '../../support/services/kafka.ts';
import { startRedis } from '../../support/services/redis.ts';
import { isInstalled, type Service } from '../../support/services/service.ts';
import { testConfig } from '../../support/test-config.ts';
import { clockContract } from './clock.contract.ts';
import { consumeContract } from './consume.contract.ts';
import { keyValueContract } from './key-value.contract.ts';
import { logContract } from './log.contract.ts';
import { pause, until } from './opened.ts';
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
  testConfig({
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
    answerMs: 5000,
    logger: silent,
  });
  return { port, close: () => port.close() };
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

const settingsOf = () => config({ KAFKA_PREFIX: `${prefix()}.` });

logContract('distributed', async () => {
  const port = await DistributedLog.open(settingsOf(), silent);
  return { port, close: () => port.close() };
});

consumeContract('distributed', async () => {
  const settings = settingsOf();
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

async function administered<T>(work: (admin: kafkajs.Admin) => Promise<T>): Promise<T> {
  const brokers = [`${kafka.host}:${kafka.port}`];
  const admin = new kafkajs.Kafka({ brokers, logLevel: kafkajs.logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

describe('topics of Kafka', () => {
  const open = (KAFKA_PREFIX: string) => config({ KAFKA_PREFIX });
  test('that exist are taken with their number of partitions, the dead letters too', async () => {
    const name = `${prefix()}.`;
    const configEntries = [
      { name: 'max.message.bytes', value: String(2 ** 23) },
      { name: 'compression.type', value: 'zstd' },
    ];
    const topics = ['taken', 'taken.dlq'].map((topic) => ({
      topic: name + topic,
      numPartitions: 5,
      configEntries,
    }));
    await administered((admin) => admin.createTopics({ topics }));
    const log = await DistributedLog.open(open(name), silent, [{ topic: 'taken', group: 'group' }]);
    const partitions = new Set<number>();
    await log.consume('taken', 'group', async (batch) => {
      for (const { partition } of batch) partitions.add(partition);
      return { durable: Promise.resolve() };
    });
    const messages = Array.from({ length: 50 }, (_, i) => ({ key: `key ${i}`, value: Buffer.from('x') }));
    await log.publish('taken', messages);
    await until('all partitions are read', () => partitions.size === 5);
    const letter = { value: Buffer.from('refused'), reason: 'not JSON', origin: 'file:1', attempt: 1 };
    const offsets = await log.deadLetter('taken', [letter, letter, letter]);
    expect(offsets).toEqual(['0', '1', '2']);
    expect(await log.readDeadLetters('taken', ['1'])).toEqual([letter.value]);
    await log.close();
  });

  test('that keep the codec of their producer are refused with what to do', async () => {
    const name = `${prefix()}.`;
    const configEntries = [
      { name: 'max.message.bytes', value: String(9_000_000) },
      { name: 'compression.type', value: 'producer' },
    ];
    const topics = [{ topic: `${name}foreign`, numPartitions: 1, configEntries }];
    await administered((admin) => admin.createTopics({ topics }));
    const consumed = [{ topic: 'foreign', group: 'group' }];
    await expect(DistributedLog.open(open(name), silent, consumed)).rejects.toThrow(
      /compression.type=producer.*--add-config compression.type=zstd/s,
    );
  });

  test.each(['gzip', 'lz4', 'snappy'])(
    'are read where another producer writes in %s',
    async (compression) => {
      if (!(await isInstalled('kcat'))) throw new Error('kcat is not installed: apt-get install kcat');
      const settings = open(`${prefix()}.`);
      const log = await DistributedLog.open(settings, silent, [{ topic: 'foreign', group: 'group' }]);
      const lines = Array.from(
        { length: 500 },
        (_, i) => `{"number":${i},"text":"${'block '.repeat(i % 50)}"}`,
      );
      const broker = `${kafka.host}:${kafka.port}`;
      const kcat = spawn('kcat', [
        '-P',
        '-b',
        broker,
        '-t',
        `${settings.KAFKA_PREFIX}foreign`,
        '-z',
        compression,
      ]);
      kcat.stdin.end(`${lines.join('\n')}\n`);
      expect((await once(kcat, 'exit'))[0]).toBe(0);
      const seen: string[] = [];
      await log.consume('foreign', 'group', async (batch) => {
        for (const { value } of batch) seen.push(value.toString());
        return { durable: Promise.resolve() };
      });
      await until('all are read', () => seen.length === lines.length);
      expect(seen.toSorted()).toEqual(lines.toSorted());
      await log.close();
    },
  );

  test('give the beginning of a message that is too large when decompressed, and those behind it', async () => {
    const log = await DistributedLog.open(open(`${prefix()}.`), silent);
    const seen: LogRecord[] = [];
    await log.consume('large', 'group', async (batch) => {
      seen.push(...batch);
      return { durable: Promise.resolve() };
    });
    const values = [Buffer.alloc(20 * 2 ** 20, '0'), Buffer.from('behind it')];
    await log.publish(
      'large',
      values.map((value) => ({ key: 'key', value })),
    );
    await until('both have arrived', () => seen.length === 2);
    const [large, small] = seen;
    expect(large?.refused).toMatch(/KAFKA_MESSAGE_BYTES/);
    expect(large?.value.length).toBeLessThan(2 ** 20);
    expect([small?.refused, small?.value.toString()]).toEqual([undefined, 'behind it']);
    await log.close();
  });

  test('take what a process publishes whose clock is wrong by days, either way', async () => {
    const log = await DistributedLog.open(open(`${prefix()}.`), silent);
    const { now } = Date;
    const letter = { value: Buffer.from('refused'), reason: 'not JSON', origin: 'file:1', attempt: 1 };
    for (const [i, days] of [-30, 3].entries()) {
      vi.spyOn(Date, 'now').mockImplementation(() => now() + days * 86_400_000);
      try {
        await log.publish('wrong-clock', [{ key: 'key', value: Buffer.from(String(days)) }]);
        expect(await log.deadLetter('wrong-clock', [letter])).toEqual([String(i)]);
      } finally {
        vi.restoreAllMocks();
      }
    }
    await log.close();
  });

  test('deliver a batch again that did not become durable, as often as it takes', async () => {
    const log = await DistributedLog.open(open(`${prefix()}.`), silent);
    const seen: string[] = [];
    await log.consume('retried', 'group', async (batch) => {
      seen.push(...batch.map(({ value }) => value.toString()));
      const fails = seen.length < 4;
      // At once and later, as a store that is known to be away, and one that has just gone.
      const late = pause(seen.length % 2 === 0 ? 0 : 30);
      return { durable: fails ? late.then(() => Promise.reject(new Error('away'))) : Promise.resolve() };
    });
    await log.publish('retried', [{ key: 'key', value: Buffer.from('a') }]);
    await until('it was delivered four times', () => seen.length === 4);
    expect(seen).toEqual(['a', 'a', 'a', 'a']);
    await log.close();
  });

  test('have a lag by partition, also while no member of the group runs', async () => {
    const consumed = [{ topic: 'lagging', group: 'load' }];
    const settings = open(`${prefix()}.`);
    const log = await DistributedLog.open(settings, silent, consumed);
    const messages = Array.from({ length: 30 }, (_, i) => ({ key: `key ${i}`, value: Buffer.from('x') }));
    await log.publish('lagging', messages);
    const [lag] = await log.lag();
    expect(lag).toMatchObject({ ...consumed[0], messages: 30 });
    expect(lag?.partitions.map(({ partition }) => partition).sort()).toEqual([0, 1, 2]);
    expect(lag?.partitions.reduce((sum, { messages }) => sum + messages, 0)).toBe(30);
    const loader = await DistributedLog.open(settings, silent);
    await loader.consume('lagging', 'load', async () => ({ durable: Promise.resolve() }));
    await loader.waitUntilConsumed('lagging', 'load');
    await loader.close();
    expect((await log.lag())[0]).toMatchObject({ messages: 0 });
    await log.close();
  });
});

describe('the services, looked at from outside', () => {
  const consumed = [{ topic: 'looked-at', group: 'load' }];
  const stateOf = (findings: readonly Finding[]) => findings.map(({ check, state }) => `${check} ${state}`);
  const same = (theirs: number, asked: number, answered: number) =>
    fine('clock', String(theirs >= asked - 2000 && theirs <= answered + 2000));

  test('answer before and after topics are made', async () => {
    const settings = settingsOf();
    expect(await checkKafka(settings, consumed)).toEqual([
      fine('kafka', `${settings.KAFKA_BROKERS} answers, and this user may read its groups and publish`),
      expect.objectContaining({
        state: 'ok',
        text: expect.stringMatching(/the first start creates .*looked-at/),
      }),
    ]);
    await (await DistributedLog.open(settings, silent, consumed)).close();
    expect((await checkKafka(settings, consumed)).at(-1)?.text).toBe('1 topic with dead letters exist');
  });

  test('tell version, clock and rights', async () => {
    const url = `redis://${redis.host}:${redis.port}`;
    const [answers, time] = await checkRedis(config({ REDIS_URL: url }), same);
    expect(answers).toMatchObject({ state: 'ok', text: expect.stringMatching(/version \d+\./) });
    expect(time?.text).toBe('true');
    const found = await checkClickHouse(config(), async () => [fine('store', 'looked at')]);
    expect(stateOf(found)).toEqual(['clickhouse ok', 'store ok', 'clickhouse rights ok']);
  });

  test('that do not answer are told each, with the setting that names them', async () => {
    const nowhere = config({
      KAFKA_BROKERS: '127.0.0.1:1',
      REDIS_URL: 'redis://127.0.0.1:1',
      CLICKHOUSE_URL: 'http://127.0.0.1:1',
    });
    const found = await Promise.all([
      checkKafka(nowhere, consumed),
      checkRedis(nowhere, same),
      checkClickHouse(nowhere, async () => []),
    ]);
    expect(stateOf(found.flat())).toEqual(['kafka failed', 'redis failed', 'clickhouse failed']);
    const texts = found.flat().map(({ text }) => text);
    expect(texts[0]).toContain('KAFKA_BROKERS=127.0.0.1:1');
    expect(texts[1]).toContain('REDIS_URL');
    expect(texts[2]).toContain('CLICKHOUSE_URL=http://127.0.0.1:1');
  });
});
