import { once } from 'node:events';
import { Readable } from 'node:stream';
import kafkajs from 'kafkajs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { DATABASE, sql } from '../../infra/sql.ts';
import { Random } from '../../ingest/demo/random.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocks, deadLetters } from '../../ingest/raw/tables.ts';
import { openPipeline, type Pipeline } from '../../serve/application/compose/compose.ts';
import { pause, until } from '../infra/ports/opened.ts';
import { needed } from '../serve/metrics/contract-client.ts';
import { ENDPOINTS } from '../serve/metrics/endpoints.ts';
import { documentedRights, writeRights } from '../support/clickhouse/rights.ts';
import { contentOf, differences } from '../support/content.ts';
import { joinPipeline } from '../support/distributed.ts';
import { ingestLines } from '../support/pipeline.ts';
import { recordedLines } from '../support/recordings.ts';
import { startClickHouse } from '../support/services/clickhouse.ts';
import { addresses, type Services, startServices } from '../support/services/index.ts';
import { startKafka } from '../support/services/kafka.ts';
import { startRedis } from '../support/services/redis.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { testConfig } from '../support/test-config.ts';
import { contentOfCleanRun } from './clean-run.ts';
import { startRole } from './roles.ts';

let services: Services;
beforeAll(async () => {
  services = await startServices();
});
afterAll(() => services.close());

let serial = 0;
const environment = (more: Record<string, string> = {}) => {
  const name = `fault${++serial}`;
  return services.environment({
    KAFKA_PREFIX: `${name}.`,
    REDIS_PREFIX: name,
    SERVICE_WAIT_SECONDS: '1',
    ...more,
  });
};
const refusal = async (more: Record<string, string>) => {
  const pipeline = await joinPipeline(environment(more), 'load', 'work').catch(
    (error: unknown) => error as Error,
  );
  if (pipeline instanceof Error) return pipeline;
  await pipeline.close();
  return undefined;
};
const NOBODY = '127.0.0.1:9';

describe('at the start', () => {
  test.each([
    ['KAFKA_BROKERS', NOBODY],
    ['REDIS_URL', `redis://:hush@${NOBODY}`],
    ['CLICKHOUSE_URL', `http://${NOBODY}`],
  ])('%s where nobody answers is waited for, and then named, without its secrets', async (name, value) => {
    const error = await refusal({ [name]: value });
    expect(error).toMatchObject({ code: 'service_unreachable' });
    expect(error?.message).toContain(`${name}=`);
    expect(error?.message).toContain('SERVICE_WAIT_SECONDS=1');
    expect(error?.message).not.toContain('hush');
  });

  test('a process that cannot start says so in one line and ends with 1', async () => {
    const role = await startRole('load', environment({ KAFKA_BROKERS: NOBODY }), false);
    if (role.child.exitCode === null) await once(role.child, 'exit');
    expect(role.child.exitCode).toBe(1);
    expect(role.said().trim()).toMatch(/^chain-metrics: KAFKA_BROKERS=\S+: no answer within [^\n]+$/m);
  });

  test('wrong credentials are refused at once, whatever the time to wait', async () => {
    await using kafka = await startKafka({ user: 'alice', password: 'right' });
    await using redis = await startRedis({ password: 'right' });
    await using clickhouse = await startClickHouse({ user: 'alice', password: 'right' });
    const wrong = {
      KAFKA_SASL: {
        KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
        KAFKA_SASL: 'plain',
        KAFKA_USER: 'alice',
        KAFKA_PASSWORD: 'wrong',
      },
      REDIS_URL: { REDIS_URL: `redis://:wrong@127.0.0.1:${redis.port}` },
      CLICKHOUSE_USER: {
        CLICKHOUSE_URL: `http://127.0.0.1:${clickhouse.port}`,
        CLICKHOUSE_USER: 'alice',
        CLICKHOUSE_PASSWORD: 'wrong',
      },
    };
    for (const [name, settings] of Object.entries(wrong)) {
      const error = await refusal({ ...settings, SERVICE_WAIT_SECONDS: '3600' });
      expect(error).toMatchObject({ code: 'service_refused' });
      expect(error?.message).toContain(name);
      expect(error?.message).not.toContain('wrong');
    }
    const right = await refusal({
      KAFKA_BROKERS: `127.0.0.1:${kafka.port}`,
      KAFKA_SASL: 'plain',
      KAFKA_USER: 'alice',
      KAFKA_PASSWORD: 'right',
      REDIS_URL: `redis://:right@127.0.0.1:${redis.port}`,
      CLICKHOUSE_URL: `http://127.0.0.1:${clickhouse.port}`,
      CLICKHOUSE_USER: 'alice',
      CLICKHOUSE_PASSWORD: 'right',
      SERVICE_WAIT_SECONDS: '30',
    });
    expect(right).toBeUndefined();
  });

  test.each([
    [
      'too small a limit',
      { 'max.message.bytes': '1000000' },
      /max.message.bytes=1000000: messages of KAFKA_MES/,
    ],
    ['compaction', { 'cleanup.policy': 'compact' }, /cleanup.policy=compact: .* Set it to delete/],
    ['too short a retention', { 'retention.ms': '3600000' }, /retention.ms=3600000: .* loaded/],
  ])('a topic with %s is refused with what to change', async (_title, settings, text) => {
    const prefix = `strange${++serial}.`;
    const admin = new kafkajs.Kafka({
      brokers: [`${services.kafka.host}:${services.kafka.port}`],
      logLevel: kafkajs.logLevel.NOTHING,
    }).admin();
    await admin.connect();
    const configEntries = Object.entries({
      'max.message.bytes': '9000000',
      'compression.type': 'zstd',
      ...settings,
    }).map(([name, value]) => ({ name, value: value as string }));
    await admin.createTopics({
      topics: [{ topic: `${prefix}chain.blocks.v1`, numPartitions: 2, configEntries }],
    });
    await admin.disconnect();
    const error = await refusal({ KAFKA_PREFIX: prefix });
    expect(error).toMatchObject({ code: 'service_refused' });
    expect(error?.message).toMatch(text);
  });
});

describe('the users of ClickHouse that the guide makes', () => {
  async function answersOf(url: string, more: Record<string, string>): Promise<string[]> {
    const answers: string[] = [];
    for (const endpoint of ENDPOINTS) {
      const query = Object.entries({ ...needed(endpoint), ...more }) as [string, string][];
      const answer = await fetch(`${url}${endpoint.path}?${new URLSearchParams(query)}`);
      const text = await answer.text();
      answers.push(`${endpoint.path} ${answer.status} ${answer.ok ? '' : text}`.trim());
    }
    return answers;
  }
  const ALL_ANSWERED = ENDPOINTS.map(({ path }) => `${path} 200`);

  test('may do what processes do: one of them everything, the other one reads for the API and changes nothing', async () => {
    using directory = temporaryDirectory();
    const writer = documentedRights('chain_metrics');
    const config = writeRights(directory.path, writer);
    await using clickhouse = await startClickHouse({ config });
    const at = environment({ ...addresses({ ...services, clickhouse }), SERVICE_WAIT_SECONDS: '60' });
    const cannotMake = await refusal(at);
    expect(cannotMake).toMatchObject({ code: 'service_refused' });
    expect(cannotMake?.message).toContain('CLICKHOUSE_DATABASE');
    await clickhouse.stop();

    const mayMake = `GRANT CREATE DATABASE ON ${DATABASE}.*`;
    writeRights(directory.path, { ...writer, grants: [...writer.grants, mayMake] });
    await clickhouse.start();
    const role = await startRole('ingest load work serve', at);
    const operator = await joinPipeline(at, 'ingest');
    await ingestLines(
      operator,
      recordedLines('runtime').filter((_, i) => i % 8 === 0),
    );
    await operator.waitUntilComputed();
    expect(await answersOf(role.url, { limit: '1' })).toEqual(ALL_ANSWERED);
    await clickhouse.stop();

    const reader = documentedRights('chain_metrics_reader');
    writeRights(directory.path, reader);
    await clickhouse.start();
    expect(await answersOf(role.url, { limit: '2' })).toEqual(ALL_ANSWERED);
    const { store } = operator.runtime;
    for (const statement of [
      `INSERT INTO ${DATABASE}.blocks (chain) VALUES ('x')`,
      `TRUNCATE TABLE ${DATABASE}.blocks`,
      `CREATE TABLE ${DATABASE}.mine (n UInt8) ENGINE = Null`,
    ])
      await expect(store.run(statement)).rejects.toThrow(/ACCESS_DENIED|READONLY/);
    await clickhouse.stop();

    // The engine of the tests counts what it asks of itself, too.
    writeRights(directory.path, { ...reader, quota: { ...reader.quota, queries: '100' } });
    await clickhouse.start();
    const spend = async () => {
      for (let i = 0; i < 100; i++) await store.rows(sql`SELECT count() FROM ${blocks}`);
    };
    await expect(spend()).rejects.toMatchObject({ code: 'store_busy' });
    await Promise.all([role.kill(), operator.close()]);
  });
});

describe('later', () => {
  test('a line that no message may be is a dead letter of its own, and the rest goes on', async () => {
    const pipeline = await joinPipeline(
      environment({ KAFKA_MESSAGE_BYTES: String(8 * 2 ** 20) }),
      'load',
      'work',
    );
    const [good] = recordedLines('blocks').filter(({ chain }) => chain === 'polkadot') as [{ line: string }];
    const long = JSON.stringify({ ...JSON.parse(good.line), number: '99', filler: 'x'.repeat(9 * 2 ** 20) });
    await pipeline.ingest(Readable.from([Buffer.from(`${long}\n${good.line}\n`)]), {
      name: 'polkadot.ndjson',
    });
    await pipeline.waitUntilComputed();
    expect(await pipeline.runtime.store.rows(sql`SELECT reason FROM ${deadLetters} FINAL`)).toEqual([
      { reason: `longer than ${8 * 2 ** 20} bytes (KAFKA_MESSAGE_BYTES)` },
    ]);
    expect(await pipeline.runtime.store.rows(sql`SELECT count() AS n FROM ${blocks} FINAL`)).toEqual([
      { n: 1 },
    ]);
    await pipeline.close();
  });

  test('a message that decompresses to many times its size is a dead letter, and the rest goes on', async () => {
    const pipeline = await joinPipeline(environment(), 'load', 'work');
    const { log, store } = pipeline.runtime;
    const [good] = recordedLines('blocks').filter(({ chain }) => chain === 'polkadot') as [{ line: string }];
    const envelope = { schema: 'block/1', chain: 'polkadot', payload: JSON.parse(good.line) };
    const values = [Buffer.alloc(40 * 2 ** 20, '0'), Buffer.from(JSON.stringify(envelope))];
    await log.publish(
      TOPICS.blocks,
      values.map((value) => ({ key: 'one', value })),
    );
    await pipeline.waitUntilComputed();
    expect(
      await store.rows(sql`SELECT reason FROM ${deadLetters} FINAL WHERE reason LIKE '%decompressed%'`),
    ).toEqual([{ reason: `longer than ${8 * 2 ** 20} bytes when decompressed (KAFKA_MESSAGE_BYTES)` }]);
    expect(await store.rows(sql`SELECT count() AS n FROM ${blocks} FINAL`)).toEqual([{ n: 1 }]);
    await pipeline.close();
  });

  test('while ClickHouse is away blocks wait on the log, and are loaded when it is back', async () => {
    const pipeline = await joinPipeline(environment(), 'load', 'work');
    const lines = recordedLines('blocks').filter(({ chain }) => chain === 'polkadot');
    await services.clickhouse.stop();
    const text = `${lines.map(({ line }) => line).join('\n')}\n`;
    await pipeline.ingest(Readable.from([Buffer.from(text)]), { name: 'polkadot.ndjson' });
    await until('a load has failed', () => pipeline.loader.counters.failures > 0);
    await pause(500);
    await services.clickhouse.start();
    await pipeline.waitUntilComputed();
    const [stored] = await pipeline.runtime.store.rows<{ n: number }>(
      sql`SELECT count() AS n FROM ${blocks} FINAL WHERE chain = 'polkadot'`,
    );
    expect(stored?.n).toBe(lines.length);
    await pipeline.close();
  });

  test('numbers go on above the newest in the store when Redis forgets them', async () => {
    const pipeline = await joinPipeline(environment(), 'load', 'work');
    const newest = async () => BigInt((await pipeline.runtime.keyValue.get('sequence')) ?? 0);
    await pipeline.waitUntilComputed();
    const before = await newest();
    await pipeline.runtime.keyValue.delete('sequence');
    await pipeline.waitUntilComputed();
    expect(await newest()).toBeGreaterThan(before);
    await pipeline.close();
  });

  test('clocks that differ by hours, and jump, make the same rows', async () => {
    const lines = recordedLines('runtime').filter(({ chain }, i) => chain === 'polkadot' && i % 2 === 0);
    const at = testConfig(environment({ CLICKHOUSE_DATABASE: 'of_its_own' }));
    const clock = (hours: number) => ({ now: () => Date.now() + hours * 3_600_000 });
    const random = new Random(1);
    const wild = { now: () => Date.now() + random.whole(-48, 48) * 3_600_000 };
    const pipelines = [
      await openPipeline(at, { clock: clock(5), roles: new Set(['load', 'work']) }),
      await openPipeline(at, { clock: clock(-5), roles: new Set(['load', 'work']) }),
      await openPipeline(at, { clock: wild, roles: new Set(['load', 'work']) }),
    ];
    for (let from = 0; from < lines.length; from += 8)
      await ingestLines(pipelines[(from / 8) % 3] as Pipeline, lines.slice(from, from + 8));
    for (const pipeline of pipelines) await pipeline.waitUntilComputed();
    expect(differences(await contentOf(pipelines[0] as Pipeline), await contentOfCleanRun(lines))).toEqual(
      [],
    );
    for (const pipeline of pipelines) await pipeline.close();
  });
});
