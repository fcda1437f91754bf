import kafkajs, { type Admin } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { ProductError } from '../errors.ts';

const HOUR_MS = 3_600_000;
const TOPIC_EXISTS = /TOPIC_ALREADY_EXISTS|already exists/i;

/** How refused messages of a topic are found; one partition, so that a place is one number. */
export const deadLettersOf = (topic: string): string => `${topic}.dlq`;

/**
 * Makes a topic and that of its dead letters with explicit settings, or checks the ones that are there. Throws
 * `service_refused` where waiting would not heal: too small limits, another number of partitions.
 */
export async function ensureTopic(admin: Admin, topic: string, config: InfraSettings): Promise<void> {
  const wanted = [
    { topic, numPartitions: config.KAFKA_PARTITIONS },
    { topic: deadLettersOf(topic), numPartitions: 1 },
  ];
  const there = new Set(await admin.listTopics());
  const missing = wanted.filter(({ topic }) => !there.has(topic));
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
        topics: missing.map((one) => ({
          ...one,
          replicationFactor: config.KAFKA_REPLICATION,
          configEntries,
        })),
      })
      // Another process may have made them meanwhile.
      .catch((error) => {
        if (!TOPIC_EXISTS.test(JSON.stringify(error, Object.getOwnPropertyNames(error)))) throw error;
      });
  }
  for (const one of wanted) await check(admin, one, config);
}

/** A batch says more than its messages. */
const BATCH_OVERHEAD_BYTES = 64 * 1024;
const TRIES = 20;

async function check(
  admin: Admin,
  { topic, numPartitions }: { topic: string; numPartitions: number },
  config: InfraSettings,
): Promise<void> {
  let partitions = 0;
  // What was just made is not known everywhere at once.
  for (let tries = 0; tries < TRIES && partitions === 0; tries++) {
    const { topics } = await admin.fetchTopicMetadata({ topics: [topic] }).catch(() => ({ topics: [] }));
    partitions = topics[0]?.partitions.length ?? 0;
    if (partitions === 0) await new Promise((later) => setTimeout(later, 100));
  }
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
