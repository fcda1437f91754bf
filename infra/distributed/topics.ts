import { retry } from '../coordination/retry.ts';
import { HOUR_MS } from '../days.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import type { KafkaClient } from './kafka-client.ts';
import { describeKafkaError } from './kafka-refusal.ts';
import type { DistributedSettings } from './settings.ts';

/** An existing topic must keep messages for a day, or for KAFKA_RETENTION_HOURS if that is less. */
const RETENTION_HOURS_MIN = 24;
/** Bytes of a batch beside its messages. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
const BROKER_TIME = 'LogAppendTime';
/** Waits for the metadata of a new topic to reach all brokers. */
const METADATA_RETRY = { waitMs: 100, waitMsMax: 100, secondsMax: 2 };

const TOPIC_EXISTS = /TOPIC_ALREADY_EXISTS|already exists/i;
const NOT_AUTHORIZED = /(TOPIC|CLUSTER|GROUP)_AUTHORIZATION_FAILED|not authorized/i;

type NameSettings = Pick<DistributedSettings, 'KAFKA_PREFIX'>;

export const topicNameOf = (topic: string, { KAFKA_PREFIX }: NameSettings): string =>
  `${KAFKA_PREFIX}${topic}`;

/** The consumer group of a topic. All members of a group must subscribe to the same topics, so no two topics share one. */
export const groupIdOf = (topic: string, group: string, { KAFKA_PREFIX }: NameSettings): string =>
  `${KAFKA_PREFIX}${group}.${topic}`;

/** The dead letter topic of a topic. Only its first partition is used, so an offset identifies a message. */
export const deadLettersOf = (topic: string): string => `${topic}.dlq`;

/**
 * Creates a topic and its dead letter topic, or checks existing ones. Throws `service_refused` if an operator must create
 * a topic, or change a setting that loses messages.
 */
export async function ensureTopic(
  client: KafkaClient,
  topic: string,
  config: DistributedSettings,
  logger: Logger,
): Promise<void> {
  const wanted = [
    { topic, partitions: config.KAFKA_PARTITIONS },
    { topic: deadLettersOf(topic), partitions: 1 },
  ];
  const existing = new Set(await client.admin.topics());
  const missing = wanted.filter(({ topic }) => !existing.has(topic));
  if (missing.length > 0) await create(client, missing, config);
  for (const { topic } of wanted) await checkTopic(client, topic, config, logger);
}

async function create(
  client: KafkaClient,
  missing: readonly { topic: string; partitions: number }[],
  config: DistributedSettings,
): Promise<void> {
  const settings = {
    'cleanup.policy': 'delete',
    'compression.type': 'zstd',
    'max.message.bytes': String(config.KAFKA_MESSAGE_BYTES + BATCH_OVERHEAD_BYTES),
    // Time of the broker: with the clock of a producer, brokers refuse future timestamps and delete old ones early.
    'message.timestamp.type': BROKER_TIME,
    'min.insync.replicas': String(Math.max(1, config.KAFKA_REPLICATION - 1)),
    'retention.ms': String(config.KAFKA_RETENTION_HOURS * HOUR_MS),
  };
  const replicas = config.KAFKA_REPLICATION;
  try {
    await client.admin.create(missing.map((one) => ({ ...one, replicas, settings })));
  } catch (error) {
    const reason = describeKafkaError(error);
    // Another process may have created them meanwhile.
    if (TOPIC_EXISTS.test(reason)) return;
    if (!NOT_AUTHORIZED.test(reason)) throw error;
    const names = missing.map(({ topic, partitions }) => `${topic} (partitions: ${partitions})`);
    const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}`);
    throw new ProductError(
      'service_refused',
      `KAFKA_USER can neither see nor create the topic ${names.join(' and ')}: ` +
        `create the topic with ${lines.join(', ')}, or grant Describe, Read and Write if it exists`,
      reasonOf(error),
    );
  }
}

interface Need {
  readonly name: string;
  readonly isMet: (value: string) => boolean;
  /** A value to set. */
  readonly wanted: string;
  /** The consequence of any other value. */
  readonly loss: string;
}

/** Required settings of a topic; with other values it loses messages. */
function needsOf({ KAFKA_MESSAGE_BYTES, KAFKA_RETENTION_HOURS }: DistributedSettings): Need[] {
  const retentionMs = Math.min(KAFKA_RETENTION_HOURS, RETENTION_HOURS_MIN) * HOUR_MS;
  return [
    {
      name: 'cleanup.policy',
      isMet: (value) => value === 'delete',
      wanted: 'delete',
      loss: 'compaction deletes blocks that share a key',
    },
    {
      name: 'compression.type',
      isMet: (value) => value === 'zstd' || value === 'uncompressed',
      wanted: 'zstd',
      loss: 'messages that a producer compresses with gzip, lz4 or snappy cannot be read',
    },
    {
      name: 'max.message.bytes',
      isMet: (value) => Number(value) >= KAFKA_MESSAGE_BYTES,
      wanted: String(KAFKA_MESSAGE_BYTES + BATCH_OVERHEAD_BYTES),
      loss: `messages of KAFKA_MESSAGE_BYTES=${KAFKA_MESSAGE_BYTES} are refused`,
    },
    {
      name: 'retention.ms',
      isMet: (value) => Number(value) < 0 || Number(value) >= retentionMs,
      wanted: String(KAFKA_RETENTION_HOURS * HOUR_MS),
      loss: 'messages are deleted before they are loaded (KAFKA_RETENTION_HOURS, or a day if that is less)',
    },
  ];
}

/** Settings that can lose messages. */
const RISKS: Readonly<
  Record<string, { readonly isRisky: (value: string) => boolean; readonly risk: string }>
> = {
  'retention.bytes': {
    isRisky: (value) => Number(value) >= 0,
    risk: 'a partition that grows beyond it loses messages that are not loaded yet',
  },
  'message.timestamp.type': {
    isRisky: (value) => value !== BROKER_TIME,
    risk: `messages of a process whose clock is wrong may be refused or deleted early; ${BROKER_TIME} prevents it`,
  },
  'unclean.leader.election.enable': {
    isRisky: (value) => value === 'true',
    risk: 'a replica that lags may become leader, and the messages that it lacks are lost',
  },
};

/** Throws `service_refused` if the settings of a topic lose messages; logs a warning if they can lose some. */
export async function checkTopic(
  client: KafkaClient,
  topic: string,
  config: DistributedSettings,
  logger: Pick<Logger, 'warn'>,
): Promise<void> {
  await retry(async () => {
    if ((await client.admin.partitionsOf(topic)) === 0) throw new Error(`no partition of ${topic} is known`);
  }, METADATA_RETRY);
  const needs = needsOf(config);
  const settings = await settingsOf(client, topic, [...needs.map(({ name }) => name), ...Object.keys(RISKS)]);
  if (!settings) {
    logger.warn({ topic }, 'the settings of the topic cannot be checked: KAFKA_USER lacks DescribeConfigs');
    return;
  }
  for (const { name, isMet, wanted, loss } of needs) {
    const value = settings.get(name);
    if (value === undefined || isMet(value)) continue;
    throw new ProductError(
      'service_refused',
      `topic ${topic} has ${name}=${value}: ${loss}. Set it to ${wanted}: kafka-configs.sh --alter ` +
        `--entity-type topics --entity-name ${topic} --add-config ${name}=${wanted}`,
    );
  }
  for (const [name, { isRisky, risk }] of Object.entries(RISKS)) {
    const value = settings.get(name);
    if (value !== undefined && isRisky(value))
      logger.warn({ topic, [name]: value, risk }, 'this setting of the topic can lose messages');
  }
}

/** Null if this user may not describe the topic. */
async function settingsOf(
  client: KafkaClient,
  topic: string,
  names: readonly string[],
): Promise<ReadonlyMap<string, string> | null> {
  try {
    return await client.admin.settingsOf(topic, names);
  } catch (error) {
    if (NOT_AUTHORIZED.test(describeKafkaError(error))) return null;
    throw error;
  }
}
