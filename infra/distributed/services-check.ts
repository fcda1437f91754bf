import { READY_SECONDS_MAX } from '../config/settings.ts';
import { retry } from '../coordination/retry.ts';
import { withTimeout } from '../coordination/with-timeout.ts';
import { ProductError, reasonOf } from '../errors.ts';
import { type Finding, failed, fine, warning } from '../finding.ts';
import { plural } from '../format.ts';
import { ignore } from '../ignore.ts';
import { type Logger, openLogger } from '../logger.ts';
import type { ConsumedTopic } from '../ports.ts';
import type { KafkaClient } from './kafka-client.ts';
import { describeKafkaError, kafkaRefusal } from './kafka-refusal.ts';
import { KafkajsClient } from './kafkajs-client.ts';
import { connectRedis, newRedis, type RedisClient, redisAddress } from './redis.ts';
import type { DistributedSettings } from './settings.ts';
import { clickHouseRefusal, DistributedStore, requireVersion } from './store.ts';
import { checkTopic, deadLettersOf, groupIdOf, topicNameOf } from './topics.ts';

// The checks of `doctor` for Kafka, Redis and ClickHouse. They have short timeouts, and write only a Redis key that expires.

/** Time limit of the checks of Kafka, retries of the client included. */
const KAFKA_MS_MAX = 15_000;
const KAFKA_RETRY = { waitMs: 200, waitMsMax: 1000, secondsMax: 10 };
const START_IT = 'start it, make it reachable from this machine, or correct the setting';
/** Rights of the ClickHouse user on its database, as in the guide `distributed`. */
export const TABLE_RIGHTS = [
  'SELECT',
  'INSERT',
  'ALTER TABLE',
  'TRUNCATE',
  'CREATE TABLE',
  'CREATE VIEW',
  'DROP TABLE',
  'DROP VIEW',
  'CHECK',
] as const;

/** Checks that ClickHouse answers and that its user has the rights; `examine` adds checks of a store that answers. */
export async function checkClickHouse(
  config: DistributedSettings,
  examine: (store: DistributedStore) => Promise<readonly Finding[]>,
): Promise<Finding[]> {
  const store = new DistributedStore(config);
  const check = 'clickhouse';
  try {
    await requireVersion(store);
    return [
      fine(check, `${config.CLICKHOUSE_URL} answers`),
      ...(await examine(store)),
      await rightsOf(store, config),
    ];
  } catch (error) {
    const refusal = clickHouseRefusal(error, config);
    if (refusal) return [failed(check, refusal.message, 'grant what is missing, or correct the settings')];
    return [failed(check, `CLICKHOUSE_URL=${config.CLICKHOUSE_URL}: ${detailOf(error)}`, START_IT)];
  } finally {
    await store.close();
  }
}

async function rightsOf(store: DistributedStore, config: DistributedSettings): Promise<Finding> {
  const { CLICKHOUSE_USER: user, CLICKHOUSE_DATABASE: database } = config;
  const check = 'clickhouse rights';
  const isGranted = await Promise.all(
    TABLE_RIGHTS.map((right) => store.isGranted(`${right} ON ${database}.*`)),
  );
  const lacking = TABLE_RIGHTS.filter((_, i) => isGranted[i] === false);
  if (isGranted.includes(null)) return fine(check, 'the server does not report the rights of its users');
  if (lacking.length === 0) return fine(check, `${user} has all required rights on ${database}`);
  return failed(
    check,
    `${user} lacks ${lacking.join(', ')} on ${database}`,
    `GRANT ${lacking.join(', ')} ON ${database}.* TO ${user}`,
  );
}

/** Checks that Redis answers and stores keys with the prefix; its version, eviction policy and clock. */
export async function checkRedis(
  config: DistributedSettings,
  compare: (theirs: number, asked: number, answered: number) => Finding,
): Promise<Finding[]> {
  const settings = { ...config, SERVICE_WAIT_SECONDS: READY_SECONDS_MAX };
  let lastError = '';
  const logger = {
    debug: ({ reason }: { reason: string }) => {
      lastError = reason;
    },
  } as Pick<Logger, 'debug'>;
  const redis = newRedis(settings, logger, {
    keyPrefix: `${config.REDIS_PREFIX}:`,
    maxRetriesPerRequest: 1,
    commandTimeout: config.REDIS_SECONDS_MAX * 1000,
    socketTimeout: 2 * config.REDIS_SECONDS_MAX * 1000,
  });
  try {
    await connectRedis(redis, settings);
    await useKey(redis);
    const asked = Date.now();
    const [seconds, micros] = (await redis.time()) as unknown as [string, string];
    const time = compare(Number(seconds) * 1000 + Math.floor(Number(micros) / 1000), asked, Date.now());
    // The user may lack the right to run INFO; the other findings do not depend on it.
    const info = await redis.info().catch(ignore('doctor.redis', ''));
    return [...describeRedis(info), time];
  } catch (error) {
    if (error instanceof ProductError && error.code === 'service_refused') {
      return [
        failed('redis', error.message, 'correct REDIS_URL, or allow its user all commands on its keys'),
      ];
    }
    const reason = lastError || detailOf(error);
    return [failed('redis', `${redisAddress(config)}: ${reason}`, START_IT)];
  } finally {
    redis.disconnect();
  }
}

const KEY_SECONDS = 5;

/** Writes, reads and deletes a key, and runs a script, as jobs and locks do. */
async function useKey(redis: RedisClient): Promise<void> {
  const key = `doctor-${process.pid}`;
  await redis.set(key, 'here', 'EX', KEY_SECONDS);
  const read = await redis.eval("return redis.call('GET', KEYS[1])", 1, key);
  await redis.del(key);
  if (read !== 'here') throw new Error('a key that was just written cannot be read');
}

function describeRedis(info: string): Finding[] {
  const value = (name: string) => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
  const answers = fine('redis', `it answers and stores keys; version ${value('redis_version') ?? 'unknown'}`);
  const policy = value('maxmemory_policy');
  if (policy === undefined || policy === 'noeviction' || value('maxmemory') === '0') return [answers];
  const remedy = 'set maxmemory-policy to noeviction; jobs and locks must not be deleted';
  return [answers, warning('redis', `it deletes keys when it is full (${policy})`, remedy)];
}

/** Checks that Kafka answers, that its topics lose no messages, and that its user may read its groups and publish. */
export async function checkKafka(
  config: DistributedSettings,
  consumed: readonly ConsumedTopic[],
): Promise<Finding[]> {
  let client: KafkaClient | undefined;
  try {
    client = new KafkajsClient(config, openLogger({ LOG_LEVEL: 'silent' }));
    return await withTimeout(KAFKA_MS_MAX, askKafka(client, config, consumed));
  } catch (error) {
    const refusal = error instanceof ProductError ? error : kafkaRefusal(describeKafkaError(error));
    if (refusal) return [failed('kafka', refusal.message, 'correct the settings, the topic or the rights')];
    return [failed('kafka', `KAFKA_BROKERS=${config.KAFKA_BROKERS}: ${detailOf(error)}`, START_IT)];
  } finally {
    // The findings are complete, and the command ends.
    await client?.admin.disconnect().catch(ignore('doctor.kafka'));
  }
}

async function askKafka(
  client: KafkaClient,
  config: DistributedSettings,
  consumed: readonly ConsumedTopic[],
): Promise<Finding[]> {
  await client.admin.connect();
  // A broker that has just started does not know its groups yet.
  const isFinal = (error: unknown) => !client.isRetriable(error);
  return retry(() => examineTopics(client, config, consumed), { ...KAFKA_RETRY, isFinal });
}

async function examineTopics(
  client: KafkaClient,
  config: DistributedSettings,
  consumed: readonly ConsumedTopic[],
): Promise<Finding[]> {
  const { admin } = client;
  const existing = new Set(await admin.topics());
  const wanted = consumed.map(({ topic }) => topicNameOf(topic, config));
  const missing = wanted
    .flatMap((topic) => [topic, deadLettersOf(topic)])
    .filter((topic) => !existing.has(topic));
  const risks: Finding[] = [];
  for (const { topic, group } of consumed) {
    const name = topicNameOf(topic, config);
    if (!existing.has(name)) continue;
    await checkTopic(client, name, config, loggerTo(risks));
    await admin.committed(name, groupIdOf(topic, group, config));
  }
  const producer = client.producer();
  await producer.connect();
  await producer.disconnect();
  return [
    fine('kafka', `${config.KAFKA_BROKERS} answers, and this user may read its groups and publish`),
    missing.length === 0
      ? fine('kafka topics', `${plural(wanted.length, 'topic')} with dead letters exist`)
      : fine('kafka topics', `the first start creates ${missing.join(', ')}, if its user may`),
    ...risks,
  ];
}

/** Turns the warnings of a start into findings. */
function loggerTo(risks: Finding[]): Pick<Logger, 'warn'> {
  const remedy = 'change the setting of the topic, or grant DescribeConfigs';
  return {
    warn: (fields: object, text?: string) =>
      void risks.push(warning('kafka topics', `${text}: ${JSON.stringify(fields)}`, remedy)),
  } as Pick<Logger, 'warn'>;
}

function detailOf(error: unknown): string {
  return error instanceof ProductError ? `${error.message} ${error.detail ?? ''}`.trim() : reasonOf(error);
}
