import { type ChildProcess, spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import kafkajs from 'kafkajs';
import { DistributedLog } from '../../infra/distributed/log.ts';
import { readConfig } from '../../serve/settings.ts';
import { startKafka } from '../support/services/kafka.ts';
import type { Service } from '../support/services/service.ts';

// Compares the clients behind the log: `npx node test/bench/kafka-clients.ts`. Each measurement runs in a process of its
// own, so that processor time is that of the client alone.

const MESSAGES = 12_000;
const BYTES = 10_000;
const PER_REQUEST = 400;

const CLIENTS = ['kafkajs', 'platformatic'] as const;
const logger = { debug() {}, info() {}, warn() {}, error() {} };

const openLog = (KAFKA_CLIENT: string, KAFKA_BROKERS: string) =>
  DistributedLog.open(
    readConfig({ PROFILE: 'distributed', KAFKA_CLIENT, KAFKA_BROKERS, KAFKA_SESSION_MS: '6000' }),
    logger,
  );

const [role, name = '', broker = '', topic = '', group = ''] = process.argv.slice(2);

if (role === undefined) await compare();
else await measure(await openLog(name, broker));

/** In a process of its own; each line that it writes is a result. */
async function measure(log: DistributedLog): Promise<void> {
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
      await log.publish(topic, messages);
    }
    say({ ...cost(), megabytes: (MESSAGES * value.length) / 1e6 });
    process.exit(0);
  }
  if (role === 'trickle') {
    for (let i = 0; ; i++) {
      const message = { key: `key ${i % 24}`, value: Buffer.from(String(i)) };
      await log.publish(topic, [message]).then(
        () => say({ acknowledged: i }),
        () => undefined,
      );
      await pause(10);
    }
  }
  let count = 0;
  await log.consume(topic, group, async (batch) => {
    for (const { partition, value } of batch) {
      count++;
      if (role === 'follow') say({ partition, text: value.toString() });
    }
    if (role === 'read' && count === MESSAGES) {
      say(cost());
      process.exit(0);
    }
    return { durable: Promise.resolve() };
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
    for (const client of CLIENTS) {
      const name = `${client}-${round}`;
      await make(name);
      const published = await only(run('publish', client, kafka, name));
      const read = await only(run('read', client, kafka, name, name));
      process.stdout.write(`${JSON.stringify({ client, round, published, read })}\n`);
    }
  }
  for (const client of CLIENTS) {
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
