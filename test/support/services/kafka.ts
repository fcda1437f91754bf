import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import { containerService, hasImage } from './container.ts';
import { kafkaLibraries } from './kafka-libraries.ts';
import { freePort, processService, type Service } from './service.ts';

const { KAFKA_IMAGE = 'apache/kafka:4.1.0' } = process.env;
const run = promisify(execFile);

export interface KafkaOptions {
  /** With them it wants SASL/PLAIN. */
  readonly user?: string;
  readonly password?: string;
  /** The largest batch that a topic takes unless it says otherwise. */
  readonly messageBytesMax?: number;
}

/** One Kafka node of its own controller (KRaft), which makes no topic that nobody asked for. */
export async function startKafka(options: KafkaOptions = {}): Promise<Service> {
  const port = await freePort();
  const settings = (at: { listen: string; control: string; data: string }) => ({
    'process.roles': 'broker,controller',
    'node.id': '1',
    'controller.quorum.voters': `1@${at.control}`,
    listeners: `CLIENT://${at.listen},CONTROLLER://${at.control}`,
    'advertised.listeners': `CLIENT://127.0.0.1:${port}`,
    'listener.security.protocol.map': `CLIENT:${options.user ? 'SASL_PLAINTEXT' : 'PLAINTEXT'},CONTROLLER:PLAINTEXT`,
    'inter.broker.listener.name': 'CLIENT',
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': at.data,
    'auto.create.topics.enable': 'false',
    'offsets.topic.replication.factor': '1',
    'offsets.topic.num.partitions': '4',
    'transaction.state.log.replication.factor': '1',
    'transaction.state.log.min.isr': '1',
    'share.coordinator.state.topic.replication.factor': '1',
    'share.coordinator.state.topic.min.isr': '1',
    'group.initial.rebalance.delay.ms': '100',
    // A node that is started again waits until it is missed in its life before.
    'broker.session.timeout.ms': '3000',
    'broker.heartbeat.interval.ms': '500',
    'message.max.bytes': String(options.messageBytesMax ?? 1_048_588),
    ...(options.user
      ? {
          'sasl.enabled.mechanisms': 'PLAIN',
          'sasl.mechanism.inter.broker.protocol': 'PLAIN',
          'listener.name.client.plain.sasl.jaas.config': `org.apache.kafka.common.security.plain.PlainLoginModule required username="${options.user}" password="${options.password}" user_${options.user}="${options.password}";`,
        }
      : {}),
  });
  const answers = () => isReady(port, options);
  if (await hasImage(KAFKA_IMAGE)) {
    const inside = settings({ listen: '0.0.0.0:9092', control: 'localhost:9093', data: '/tmp/kafka-logs' });
    // The image reads its settings from the environment, dots as underscores.
    const env = Object.entries(inside).map(([name, value]) => [
      `KAFKA_${name.toUpperCase().replaceAll('.', '_')}`,
      value,
    ]);
    return containerService({
      image: KAFKA_IMAGE,
      innerPort: 9092,
      port,
      env: Object.fromEntries(env),
      answers,
    });
  }
  const control = await freePort();
  return kafkaProcess(port, answers, (data) =>
    settings({ listen: `127.0.0.1:${port}`, control: `127.0.0.1:${control}`, data }),
  );
}

/** Kafka as a process with settings of its own. */
export async function kafkaProcess(
  port: number,
  answers: () => Promise<void>,
  settings: (data: string) => Readonly<Record<string, string>>,
  {
    javaFlags = [],
    formatFlags = [],
  }: { javaFlags?: readonly string[]; formatFlags?: readonly string[] } = {},
): Promise<Service> {
  const libraries = await kafkaLibraries();
  const dir = mkdtempSync(join(tmpdir(), 'chain-metrics-kafka-'));
  const file = join(dir, 'server.properties');
  const lines = Object.entries(settings(join(dir, 'data'))).map(([name, value]) => `${name}=${value}\n`);
  writeFileSync(file, lines.join(''));
  const java = [
    '-Xmx512m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    ...javaFlags,
    '-cp',
    join(libraries, '*'),
  ];
  const id = Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url');
  await run('java', [
    ...java,
    'kafka.tools.StorageTool',
    'format',
    `--cluster-id=${id}`,
    '-c',
    file,
    ...formatFlags,
  ]);
  return processService({
    port,
    command: 'java',
    args: [...java, 'kafka.Kafka', file],
    answers,
    remove: () => rmSync(dir, { recursive: true, force: true }),
  });
}

export async function isReady(port: number, { user, password }: KafkaOptions = {}): Promise<void> {
  const admin = new Kafka({
    brokers: [`127.0.0.1:${port}`],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1000,
    retry: { retries: 0 },
    ...(user ? { sasl: { mechanism: 'plain', username: user, password: password ?? '' } } : {}),
  }).admin();
  try {
    await admin.connect();
    await admin.listTopics();
  } finally {
    await admin.disconnect();
  }
}
