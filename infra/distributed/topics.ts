import kafkajs, { type Admin } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { retry } from '../coordination/retry.ts';
import { ProductError } from '../errors.ts';

const HOUR_MS = 3_600_000;
const TOPIC_EXISTS = /TOPIC_ALREADY_EXISTS|already exists/i;

/** The dead letter topic of a topic. It has one partition, so that an offset identifies a message. */
export const deadLettersOf = (topic: string): string => `${topic}.dlq`;

/**
 * Creates a topic and its dead letter topic with explicit settings, or checks existing ones. Throws `service_refused`
 * when an operator must change them: too small limits, another number of partitions.
 */
export async function ensureTopic(admin: Admin, topic: string, config: InfraSettings): Promise<void> {
  const wanted = [
    { topic, numPartitions: config.KAFKA_PARTITIONS },
    { topic: deadLettersOf(topic), numPartitions: 1 },
  ];
  const existing = new Set(await admin.listTopics());
  const missing = wanted.filter(({ topic }) => !existing.has(topic));
  if (missing.length > 0) {
    const configEntries = Object.entries({
      'cleanup.policy': 'delete',
      'compression.type': 'zstd',
      'max.message.bytes': String(config.KAFKA_MESSAGE_BYTES + BATCH_OVERHEAD_BYTES),
      'min.insync.replicas': String(Math.max(1, config.KAFKA_REPLICATION - 1)),
      'retention.ms': String(config.KAFKA_RETENTION_HOURS * HOUR_MS),
    }).map(([name, value]) => ({ name, value }));
    await admin
      .createTopics({
        waitForLeaders: true,
        topics: missing.map((topic) => ({
          ...topic,
          replicationFactor: config.KAFKA_REPLICATION,
          configEntries,
        })),
      })
      // Another process may have created them meanwhile.
      .catch((error) => {
        if (!TOPIC_EXISTS.test(JSON.stringify(error, Object.getOwnPropertyNames(error)))) throw error;
      });
  }
  for (const topic of wanted) await check(admin, topic, config);
}

/** Bytes of a batch beside its messages. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
/** Metadata of a new topic reach all brokers within this time. */
const METADATA_RETRY = { waitMs: 100, waitMsMax: 100, secondsMax: 2 };

async function check(
  admin: Admin,
  { topic, numPartitions }: { topic: string; numPartitions: number },
  config: InfraSettings,
): Promise<void> {
  const partitions = await retry(async () => {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] });
    const count = topics[0]?.partitions.length ?? 0;
    if (count === 0) throw new Error(`no partition of ${topic} is known`);
    return count;
  }, METADATA_RETRY).catch(() => 0);
  if (partitions !== numPartitions) {
    throw new ProductError(
      'service_refused',
      `topic ${topic} has ${partitions} partitions where KAFKA_PARTITIONS asks for ${numPartitions}; ` +
        'set KAFKA_PARTITIONS to that number, or change the topic while nothing writes to it',
    );
  }
  const { resources } = await admin.describeConfigs({
    includeSynonyms: false,
    resources: [
      {
        type: kafkajs.ConfigResourceTypes.TOPIC,
        name: topic,
        configNames: ['max.message.bytes', 'cleanup.policy'],
      },
    ],
  });
  const found = new Map(
    resources[0]?.configEntries.map(({ configName, configValue }) => [configName, configValue]) ?? [],
  );
  const limit = Number(found.get('max.message.bytes') ?? 0);
  if (limit < config.KAFKA_MESSAGE_BYTES) {
    throw new ProductError(
      'service_refused',
      `topic ${topic} takes messages of ${limit} bytes where KAFKA_MESSAGE_BYTES asks for ${config.KAFKA_MESSAGE_BYTES}; ` +
        `raise its max.message.bytes: kafka-configs.sh --alter --entity-type topics --entity-name ${topic} ` +
        `--add-config max.message.bytes=${config.KAFKA_MESSAGE_BYTES + BATCH_OVERHEAD_BYTES}`,
    );
  }
  if (found.get('cleanup.policy') !== 'delete') {
    throw new ProductError(
      'service_refused',
      `topic ${topic} has cleanup.policy=${found.get('cleanup.policy')}: compaction would drop blocks that share a key; set it to delete`,
    );
  }
}
