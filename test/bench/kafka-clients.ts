import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import kafkajs from 'kafkajs';
import { limitDecompression, ZSTD } from '../../infra/distributed/kafkajs/codecs.ts';
import { startKafka } from '../support/services/kafka.ts';
import type { Service } from '../support/services/service.ts';

// Compares kafkajs with @platformatic/kafka, which is no dependency: install it anywhere and name its folder.
//   PLATFORMATIC=/tmp/x/node_modules/@platformatic/kafka npx node test/bench/kafka-clients.ts
// Each measurement runs in a process of its own, so that processor time is that of the client alone.

const MESSAGES = 12_000;
const BYTES = 10_000;
const PER_REQUEST = 400;
const FETCH_BYTES = 8 * 2 ** 20;
const SESSION_MS = 6000;
const METADATA_MS = 5000;

interface KafkaClient {
  /** Publishes and waits for all replicas. */
  publish(topic: string, messages: { key: string; value: Buffer }[]): Promise<unknown>;
  /** Reads a topic as a member of a group from its beginning. */
  read(topic: string, group: string, onMessage: (partition: number, value: Buffer) => void): Promise<void>;
}

async function withKafkajs(broker: string): Promise<KafkaClient> {
  limitDecompression({ messageBytes: 8 * 2 ** 20, fetchBytes: 128 * 2 ** 20 });
  const kafka = new kafkajs.Kafka({ brokers: [broker], logLevel: kafkajs.logLevel.NOTHING });
  const producer = kafka.producer({
    idempotent: true,
    maxInFlightRequests: 1,
    metadataMaxAge: METADATA_MS,
    retry: { retries: 1000, maxRetryTime: 2000 },
  });
  await producer.connect();
  return {
    publish: (topic, messages) => producer.send({ topic, messages, acks: -1, compression: ZSTD }),
    read: async (topic, groupId, onMessage) => {
      const consumer = kafka.consumer({
        groupId,
        sessionTimeout: SESSION_MS,
        heartbeatInterval: 600,
        metadataMaxAge: METADATA_MS,
        maxBytes: FETCH_BYTES,
        maxBytesPerPartition: FETCH_BYTES,
        maxWaitTimeInMs: 500,
      });
      await consumer.connect();
      await consumer.subscribe({ topics: [topic], fromBeginning: true });
      await consumer.run({
        partitionsConsumedConcurrently: 16,
        eachBatch: async ({ batch }) => {
          for (const { value } of batch.messages) onMessage(batch.partition, value as Buffer);
        },
      });
    },
  };
}

/** As much of its interface as is used here. */
interface Platformatic {
  readonly Producer: new (options: object) => { send(options: object): Promise<unknown> };
  readonly Consumer: new (
    options: object,
  ) => { consume(options: object): Promise<AsyncIterable<{ partition: number; value: Buffer }>> };
}

/** The protocol of groups: members assign partitions to each other (`classic`), or the brokers do (`consumer`). */
const withPlatformatic =
  (groupProtocol: 'classic' | 'consumer') =>
  async (broker: string): Promise<KafkaClient> => {
    const entry = pathToFileURL(`${process.env.PLATFORMATIC}/dist/index.js`).href;
    const { Producer, Consumer } = (await import(entry)) as Platformatic;
    const base = {
      clientId: 'bench',
      bootstrapBrokers: [broker],
      metadataMaxAge: METADATA_MS,
      retries: 1000,
      retryDelay: 200,
    };
    const producer = new Producer({ ...base, idempotent: true, autocreateTopics: false });
    return {
      publish: (topic, messages) =>
        producer.send({
          messages: messages.map(({ key, value }) => ({ topic, key: Buffer.from(key), value })),
          acks: -1,
          compression: 'zstd',
        }),
      read: async (topic, groupId, onMessage) => {
        const consumer = new Consumer({ ...base, groupId, groupProtocol });
        const stream = await consumer.consume({
          topics: [topic],
          mode: 'committed',
          fallbackMode: 'earliest',
          autocommit: 1000,
          ...(groupProtocol === 'classic' && { sessionTimeout: SESSION_MS, heartbeatInterval: 600 }),
          maxBytes: FETCH_BYTES,
          maxBytesPerPartition: FETCH_BYTES,
          maxWaitTime: 500,
        });
        void (async () => {
          for await (const { partition, value } of stream) onMessage(partition, value);
        })();
      },
    };
  };

const CLIENTS = {
  kafkajs: withKafkajs,
  platformatic: withPlatformatic('classic'),
  'platformatic-consumer': withPlatformatic('consumer'),
};
const [role, name = '', broker = '', topic = '', group = ''] = process.argv.slice(2);

if (role === undefined) await compare();
else await measure(await CLIENTS[name as keyof typeof CLIENTS](broker));

/** In a process of its own; each line that it writes is a result. */
async function measure(client: KafkaClient): Promise<void> {
  const say = (facts: object) => process.stdout.write(`${JSON.stringify(facts)}\n`);
  const [began, cpu] = [performance.now(), process.cpuUsage()];
  const cost = () => {
    const { user, system } = process.cpuUsage(cpu);
    return { seconds: (performance.now() - began) / 1000, processor: (user + system) / 1e6 };
  };
  if (role === 'publish') {
    const value = Buffer.from(
      JSON.stringify(Array.from({ length: BYTES / 20 }, (_, i) => ({ block: i * 7919 }))),
    );
    for (let sent = 0; sent < MESSAGES; sent += PER_REQUEST) {
      const messages = Array.from({ length: PER_REQUEST }, (_, i) => ({
        key: `key ${(sent + i) >> 6}`,
        value,
      }));
      await client.publish(topic, messages);
    }
    say({ ...cost(), megabytes: (MESSAGES * value.length) / 1e6 });
    process.exit(0);
  }
  if (role === 'trickle') {
    for (let i = 0; ; i++) {
      const message = { key: `key ${i % 24}`, value: Buffer.from(String(i)) };
      await client.publish(topic, [message]).then(
        () => say({ acknowledged: i }),
        () => undefined,
      );
      await pause(10);
    }
  }
  let count = 0;
  await client.read(topic, group, (partition, value) => {
    count++;
    if (role === 'follow') say({ partition, text: value.toString() });
    else if (count === MESSAGES) {
      say(cost());
      process.exit(0);
    }
  });
}

async function compare(): Promise<void> {
  const kafka = await startKafka();
  const admin = new kafkajs.Kafka({
    brokers: [`${kafka.host}:${kafka.port}`],
    logLevel: kafkajs.logLevel.NOTHING,
  }).admin();
  await admin.connect();
  const make = (name: string, numPartitions = 6) => {
    const configEntries = [{ name: 'max.message.bytes', value: String(2 ** 24) }];
    return admin.createTopics({
      waitForLeaders: true,
      topics: [{ topic: name, numPartitions, configEntries }],
    });
  };
  for (const round of [1, 2, 3]) {
    for (const client of Object.keys(CLIENTS)) {
      const name = `${client}-${round}`;
      await make(name);
      const published = await only(run('publish', client, kafka, name));
      const read = await only(run('read', client, kafka, name, name));
      process.stdout.write(`${JSON.stringify({ client, round, published, read })}\n`);
    }
  }
  for (const client of Object.keys(CLIENTS)) {
    process.stdout.write(`${JSON.stringify({ client, ...(await faults(client, kafka, admin, make)) })}\n`);
  }
  await admin.disconnect();
  await kafka.close();
}

/** Two members follow a topic that is written to: partitions increase, a member is killed, the broker is away. */
async function faults(
  client: string,
  kafka: Service,
  admin: kafkajs.Admin,
  make: (name: string, partitions: number) => Promise<unknown>,
) {
  const name = `${client}-faults`;
  await make(name, 3);
  const writer = run('trickle', client, kafka, name);
  const readers = [1, 2].map(() => run('follow', client, kafka, name, name));
  const [first, second] = readers.map(lines) as [Line[], Line[]];
  const acknowledged = lines(writer);
  const waitFor = async (holds: () => boolean, secondsMax = 60) => {
    const began = performance.now();
    while (!holds()) {
      if (performance.now() - began > secondsMax * 1000) return `not within ${secondsMax} s`;
      await pause(20);
    }
    return Math.round((performance.now() - began) / 100) / 10;
  };
  const partitionsSince = (from: number, read: Line[]) =>
    new Set(read.slice(from).map(({ partition }) => partition));
  const joined = await waitFor(() => first.length > 0 && second.length > 0);
  await admin.createPartitions({ topicPartitions: [{ topic: name, count: 6 }] });
  const grown = await waitFor(
    () => new Set([...partitionsSince(0, first), ...partitionsSince(0, second)]).size === 6,
  );
  readers[0]?.kill('SIGKILL');
  const from = second.length;
  const takenOver = await waitFor(() => partitionsSince(from, second).size === 6);
  await kafka.stop();
  await pause(5000);
  await kafka.start();
  const [before, readBefore] = [acknowledged.length, second.length];
  const backAt = await waitFor(() => acknowledged.length > before + 20);
  const readAgain = await waitFor(() => partitionsSince(readBefore, second).size === 6);
  await pause(3000);
  writer.kill('SIGKILL');
  await pause(3000);
  const texts = [...first, ...second].map(({ text }) => text);
  const lost = acknowledged.filter(({ acknowledged: i }) => !new Set(texts).has(String(i))).length;
  readers[1]?.kill('SIGKILL');
  return {
    joined,
    grown,
    takenOver,
    backAt,
    readAgain,
    acknowledged: acknowledged.length,
    lost,
    read: texts.length,
  };
}

type Line = Record<string, unknown>;

function run(role: string, client: string, { host, port }: Service, ...more: string[]): ChildProcess {
  const args = [fileURLToPath(import.meta.url), role, client, `${host}:${port}`, ...more];
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
}

function lines(child: ChildProcess): Line[] {
  const read: Line[] = [];
  let rest = '';
  child.stdout?.on('data', (chunk) => {
    const parts = `${rest}${chunk}`.split('\n');
    rest = parts.pop() ?? '';
    read.push(...parts.map((part) => JSON.parse(part) as Line));
  });
  return read;
}

async function only(child: ChildProcess): Promise<Line | undefined> {
  const read = lines(child);
  await new Promise((done) => child.once('close', done));
  return read[0];
}
