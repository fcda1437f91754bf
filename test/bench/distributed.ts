import { createReadStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Queue as BullQueue, Worker } from 'bullmq';
import { Redis } from 'ioredis';
import kafkajs from 'kafkajs';
import { applySchema } from '../../infra/clickhouse/schema.ts';
import { sequenceAt } from '../../infra/coordination/sequence.ts';
import { ZSTD } from '../../infra/distributed/kafkajs-codecs.ts';
import { FETCH_BYTES } from '../../infra/distributed/log.ts';
import { DistributedQueue } from '../../infra/distributed/queue.ts';
import { openLogger } from '../../infra/logger.ts';
import type { Pieces } from '../../infra/ports.ts';
import { DATABASE, sql } from '../../infra/sql.ts';
import type { Chain } from '../../ingest/chains/chain.ts';
import { fileStem } from '../../ingest/chains/chain-of-file.ts';
import { readLine, splitEnvelope } from '../../ingest/log/envelope.ts';
import { TOPICS } from '../../ingest/log/topics.ts';
import { blocksIn } from '../../ingest/raw/block-landing.ts';
import { blockLine } from '../../ingest/raw/landing-lines.ts';
import { blocks } from '../../ingest/raw/tables.ts';
import { blockViews } from '../../ingest/raw/views/blocks.ts';
import type { Pipeline } from '../../serve/application/compose/compose.ts';
import { schema } from '../../serve/application/compose/stored-schema.ts';
import { startRole } from '../distributed/roles.ts';
import { until } from '../infra/ports/opened.ts';
import { joinPipeline } from '../support/distributed.ts';
import { startServices } from '../support/services/index.ts';
import { testConfig } from '../support/test-config.ts';
import { type BlockFile, writeBlockFiles } from './blocks.ts';
import { compare, type Figure, median, milliseconds, readSizes, report } from './measure.ts';

// Kafka, Redis and the store all run on this machine beside the processes that are measured.

/** Each of them writes all of it once more. */
const PUBLISHING_ROUNDS = 3;
/** About what a fetch of blocks unpacks to. */
const STATEMENT_BYTES = 24e6;

const { megabytes, rounds } = readSizes();
const directory = mkdtempSync(join(tmpdir(), 'chain-metrics-bench-'));
const services = await startServices();
const environment = services.environment({ KAFKA_PARTITIONS: '6' });
const config = testConfig(environment);
const kafka = new kafkajs.Kafka({
  brokers: config.KAFKA_BROKERS.split(','),
  logLevel: kafkajs.logLevel.NOTHING,
});
const files = await writeBlockFiles(directory, megabytes);
const total = files.reduce((sum, { bytes }) => sum + bytes, 0);
const count = files.reduce((sum, file) => sum + file.blocks, 0);
const figures: Figure[] = [];

const producer = await joinPipeline(environment, 'ingest');
figures.push(await publishing());
await publishFiles(producer);
figures.push(...(await loading()));
figures.push(await queueing());
figures.push(await freshness());
await producer.close();
await services.close();
rmSync(directory, { recursive: true, force: true });
report(figures);
process.exit(0);

/**
 * Blocks of files onto the log, against a producer that only sends the same bytes, packed in the same way, in turn.
 * On topics of their own: every round writes the same blocks again.
 */
async function publishing(): Promise<Figure> {
  const own = await joinPipeline(
    { ...environment, KAFKA_PREFIX: 'published.', REDIS_PREFIX: 'published' },
    'ingest',
  );
  const admin = kafka.admin();
  await admin.connect();
  const configEntries = Object.entries({ 'max.message.bytes': '9000000', 'compression.type': 'zstd' }).map(
    ([name, value]) => ({ name, value }),
  );
  await admin.createTopics({ topics: [{ topic: 'bare', numPartitions: 6, configEntries }] });
  await admin.disconnect();
  const bare = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });
  await bare.connect();
  const batches = [...bareBatches(files)];
  const { product, peer, ratio } = await compare(
    Math.min(rounds, PUBLISHING_ROUNDS),
    () => milliseconds(() => publishFiles(own)),
    () =>
      milliseconds(async () => {
        for (const messages of batches)
          await bare.send({ topic: 'bare', messages, acks: -1, compression: ZSTD });
      }),
  );
  await bare.disconnect();
  await own.close();
  return {
    work: `${Math.round(total / 1e6)} MB of block files onto the log`,
    peer: 'a kafkajs producer that sends the same bytes',
    figure: `${rate(total, product)} MB/s against ${rate(total, peer)}`,
    ratio: 1 / ratio,
    goal: '≥ 0.8',
    met: 1 / ratio >= 0.8,
  };
}

async function publishFiles(pipeline: Pipeline): Promise<void> {
  for (const { path, name } of files) {
    // In pieces as large as those of the command line.
    await pipeline.ingest(createReadStream(path, { highWaterMark: 1024 * 1024 }), { name });
  }
}

function* bareBatches(files: readonly BlockFile[]): Generator<{ key: string; value: Buffer }[]> {
  let batch: { key: string; value: Buffer }[] = [];
  let bytes = 0;
  for (const { path } of files) {
    for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) {
      batch.push({ key: String(batch.length >> 6), value: Buffer.from(line) });
      bytes += line.length;
      if (bytes < 4 * 2 ** 20) continue;
      yield batch;
      batch = [];
      bytes = 0;
    }
  }
  if (batch.length > 0) yield batch;
}

/** The topic into durable raw tables by one process, against a consumer that does nothing with it. */
async function loading(): Promise<Figure[]> {
  const stored = async () =>
    (await producer.runtime.store.rows<{ n: number }>(sql`SELECT count() AS n FROM ${blocks} FINAL`))[0]?.n;
  const started = performance.now();
  const role = await startRole('load', environment);
  const ready = performance.now() - started;
  let most = 0;
  const watch = setInterval(() => {
    const status = readFileSync(`/proc/${role.child.pid}/status`, 'utf8');
    most = Math.max(most, Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  }, 100);
  await producer.waitUntilLoaded();
  const product = performance.now() - started - ready;
  clearInterval(watch);
  if ((await stored()) !== count) throw new Error(`${await stored()} of ${count} blocks are stored`);
  await role.kill('SIGTERM');
  const peer = await idleConsumer();
  const alone = await statementsAlone();
  return [
    {
      work: 'topic of blocks to durable raw tables, one load process',
      peer: 'a kafkajs eachBatch that does nothing, on the same topic',
      figure: `${rate(total, product)} MB/s, ${Math.round(count / (product / 1000))} blocks/s against ${rate(total, peer)} MB/s`,
      ratio: peer / product,
      goal: '≥ 0.5',
      met: peer / product >= 0.5,
      details: [
        `the store alone takes ${rate(total, alone.loaded)} MB/s of the same blocks in statements of ${STATEMENT_BYTES / 1e6} MB`,
        `and only parses ${rate(total, alone.parsed)} MB/s of them; one process reaches ${(alone.loaded / product).toFixed(2)} of what the store takes`,
      ],
    },
    {
      work: 'most memory of that process, the store not counted',
      peer: '',
      figure: `${Math.round(most)} MiB`,
      goal: '< 512 MiB',
      met: most < 512,
    },
  ];
}

/** From the moment in which it has joined, as the process that is measured. */
async function idleConsumer(): Promise<number> {
  const consumer = kafka.consumer({ groupId: 'idle', maxBytes: FETCH_BYTES });
  await consumer.connect();
  await consumer.subscribe({ topics: [TOPICS.blocks], fromBeginning: true });
  let seen = 0;
  const done = Promise.withResolvers<number>();
  await consumer.run({
    eachBatch: async ({ batch }) => {
      seen += batch.messages.length;
      if (seen >= count) done.resolve(performance.now());
    },
  });
  const joined = performance.now();
  const ended = await done.promise;
  await consumer.disconnect();
  return ended - joined;
}

/** What the store needs for the same blocks when nobody else needs the machine: loaded as they are, and parsed only. */
async function statementsAlone(): Promise<{ loaded: number; parsed: number }> {
  const { registry, runtime } = producer;
  const batches: Pieces[][] = [[]];
  let bytes = 0;
  for (const { path, name } of files) {
    const chain = registry.find(fileStem(name)) as Chain;
    for (const line of readFileSync(path, 'utf8').trimEnd().split('\n')) {
      const origin = { source: 'import', origin: name, line: 0 };
      const read = readLine(Buffer.from(line), chain, registry, origin);
      const split = 'refused' in read ? null : splitEnvelope(read.value);
      if (!split) throw new Error(`${name}: a line that is no block`);
      const batch = batches.at(-1) as Pieces[];
      batch.push(blockLine(batch.length, split.head, chain, split.payload));
      bytes += line.length;
      if (bytes < STATEMENT_BYTES) continue;
      batches.push([]);
      bytes = 0;
    }
  }
  const staged = await Promise.all(batches.map((lines) => runtime.store.stage(blocksIn, lines)));
  const commit = () =>
    milliseconds(async () => {
      for (const batch of staged) await batch.commit(sequenceAt(Date.now()));
    });
  const loaded = await commit();
  for (const view of blockViews) await runtime.store.run(`DROP TABLE ${DATABASE}.${view.name} SYNC`);
  const parsed = await commit();
  await applySchema(runtime.store, schema);
  return { loaded, parsed };
}

/** What our rules of collapsing cost a job, against BullMQ jobs that do nothing either. */
async function queueing(): Promise<Figure> {
  const jobs = 10_000;
  const redis = () => new Redis(config.REDIS_URL, { maxRetriesPerRequest: null });
  const queue = new DistributedQueue({
    redis: redis(),
    prefix: 'bench',
    attempts: 3,
    backoffMs: 100,
    lockMs: 30_000,
    answerMs: 5000,
    logger: openLogger({ LOG_LEVEL: 'silent' }),
  });
  const product = await milliseconds(async () => {
    await inParallel(jobs, (i) => queue.add('windows', { id: `daily_fees/polkadot/${i}`, data: i }));
    await queue.process('windows', 50, async () => undefined);
    await queue.idle('windows');
  });
  await queue.close();
  const connection = redis();
  const bare = new BullQueue('bare', { connection, prefix: 'bench' });
  const peer = await milliseconds(async () => {
    await inParallel(jobs, (i) => bare.add('job', i, { removeOnComplete: true }));
    const worker = new Worker('bare', async () => undefined, {
      connection,
      prefix: 'bench',
      concurrency: 50,
    });
    await until(
      'all are done',
      async () => Object.values(await bare.getJobCounts('active', 'prioritized')).every((n) => n === 0),
      120_000,
    );
    await worker.close();
  });
  await bare.close();
  connection.disconnect();
  return {
    work: '10,000 queued windows that do nothing',
    peer: '10,000 BullMQ jobs that do nothing',
    figure: `${((product * 1000) / jobs).toFixed(0)} µs a job against ${((peer * 1000) / jobs).toFixed(0)}`,
    ratio: product / peer,
    goal: '≤ 2',
    met: product / peer <= 2,
  };
}

async function inParallel(jobs: number, add: (i: number) => Promise<unknown>): Promise<void> {
  for (let i = 0; i < jobs; i += 50) {
    await Promise.all(Array.from({ length: Math.min(50, jobs - i) }, (_, j) => add(i + j)));
  }
}

/** From a block's publication until the API shows it, while nothing else is loaded. */
async function freshness(): Promise<Figure> {
  const roles = await Promise.all(
    ['load', 'work', 'serve'].map((role) =>
      startRole(role, {
        ...environment,
        ANONYMOUS_PER_MINUTE: '0',
        ANONYMOUS_PER_DAY: '0',
        ANONYMOUS_STORE_SECONDS: '0',
      }),
    ),
  );
  await producer.waitUntilComputed();
  const [{ path }] = files as [BlockFile];
  const template = readFileSync(path, 'utf8').slice(0, readFileSync(path, 'utf8').indexOf('\n'));
  const times: number[] = [];
  const url = `${roles[2]?.url}/api/daily-tps?relay_chain=polkadot&chain=polkadot&start_date=2030-01-01&end_date=2031-01-01`;
  for (let i = 0; i < Math.max(20, rounds); i++) {
    const number = 80_000_000 + i;
    const time = Date.UTC(2030, 0, 1) + i * 6000;
    const block = template
      .replace(/"number":"?\d+"?/, `"number":"${number}"`)
      .replace(/"now":\s*"?\d{13}"?/, `"now":"${time}"`);
    const began = performance.now();
    const envelope = { schema: 'block/1', chain: 'polkadot', payload: JSON.parse(block) };
    await producer.runtime.log.publish(TOPICS.blocks, [
      { key: `polkadot/polkadot/${number >> 6}`, value: Buffer.from(JSON.stringify(envelope)) },
    ]);
    await until(
      'it is served',
      async () => (await (await fetch(url)).text()).includes(`"num_blocks":${i + 1}`),
      60_000,
    );
    times.push(performance.now() - began);
  }
  for (const role of roles) await role.kill();
  const sorted = times.sort((a, b) => a - b);
  const p99 = sorted.at(-1) as number;
  return {
    work: 'a block published until the API shows it, one at a time',
    peer: '',
    figure: `p50 ${Math.round(median(sorted))} ms, slowest of ${times.length} ${Math.round(p99)} ms`,
    goal: '< 2 s',
    met: p99 < 2000,
  };
}

function rate(bytes: number, ms: number): string {
  return (bytes / 1e6 / (ms / 1000)).toFixed(1);
}
