import { z } from 'zod';
import { booleanSetting, integerSetting } from '../config/setting-types.ts';
import type { PortSettings } from '../config/settings.ts';
import { DATABASE } from '../sql.ts';

const addresses = z
  .string()
  .regex(/^[^\s,:]+:\d+(,[^\s,:]+:\d+)*$/, 'expected host:port, several with commas');

/** Settings of the distributed profile; the embedded one reads none of them. */
export const distributedSettings = {
  KAFKA_BROKERS: addresses
    .default('localhost:9092')
    .describe('bootstrap brokers of Kafka, as host:port, separated by commas'),
  KAFKA_SASL: z
    .enum(['none', 'plain', 'scram-sha-256', 'scram-sha-512', 'oauthbearer'])
    .default('none')
    .describe('SASL mechanism of Kafka; all but none need KAFKA_USER and KAFKA_PASSWORD'),
  KAFKA_USER: z.string().default('').describe('SASL user name; with oauthbearer the client id'),
  KAFKA_PASSWORD: z
    .string()
    .default('')
    .describe('password of KAFKA_USER; with oauthbearer the client secret'),
  KAFKA_OAUTH_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address' })
    .optional()
    .describe('token endpoint of the client credentials grant, for KAFKA_SASL=oauthbearer'),
  KAFKA_OAUTH_SCOPE: z.string().default('').describe('scope of the tokens; default: the scope of the client'),
  KAFKA_TLS: booleanSetting('false').describe('whether the connections to Kafka use TLS'),
  KAFKA_TLS_CA_FILE: z
    .string()
    .optional()
    .describe('PEM file of the certificate authority of the brokers; default: the public authorities'),
  KAFKA_TLS_CERT_FILE: z
    .string()
    .optional()
    .describe('PEM file of the client certificate; read again for each connection'),
  KAFKA_TLS_KEY_FILE: z
    .string()
    .optional()
    .describe('PEM file of the private key of the client certificate; read again for each connection'),
  KAFKA_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]*$/, 'expected letters, digits, dots, hyphens or underscores')
    .default('')
    .describe('prefix of topics and consumer groups, for several deployments on one Kafka'),
  KAFKA_PARTITIONS: integerSetting(12, 1, 10_000).describe(
    'partitions of a new topic; existing topics are not changed',
  ),
  KAFKA_REPLICATION: integerSetting(1, 1, 9).describe(
    'replication factor of a new topic; use 3 with three or more brokers',
  ),
  KAFKA_RETENTION_HOURS: integerSetting(168, 1).describe(
    'retention of a new topic, in hours; an existing topic is refused if its retention is below this and below 24 hours',
  ),
  KAFKA_MESSAGE_BYTES: integerSetting(8 * 2 ** 20, 8 * 2 ** 20, 2 ** 30).describe(
    'largest message of a topic, in bytes',
  ),
  REDIS_URL: z
    .url({ protocol: /^rediss?$/, message: 'expected redis://[user:password@]host:port[/database]' })
    .default('redis://localhost:6379')
    .describe('Redis for jobs, locks and counters'),
  REDIS_MODE: z
    .enum(['single', 'sentinel', 'cluster'])
    .default('single')
    .describe('one Redis, a master that Sentinels name, or Redis Cluster'),
  REDIS_NODES: addresses
    .optional()
    .describe(
      'Sentinels or nodes of the cluster, as host:port, separated by commas; default: the address in REDIS_URL',
    ),
  REDIS_SENTINEL_NAME: z
    .string()
    .min(1)
    .default('mymaster')
    .describe('name of the master that Sentinels watch'),
  REDIS_SENTINEL_PASSWORD: z.string().default('').describe('password of the Sentinels'),
  REDIS_PREFIX: z
    .string()
    .regex(/^[a-zA-Z0-9._-]+$/, 'expected letters, digits, dots, hyphens or underscores')
    .default('chain-metrics')
    .describe('prefix of every key, for several deployments on one Redis'),
  CLICKHOUSE_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address' })
    .default('http://localhost:8123')
    .describe('HTTP address of ClickHouse'),
  CLICKHOUSE_DATABASE: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]{0,63}$/, 'expected letters, digits or underscores')
    .default(DATABASE)
    .describe('database for all tables; created if it is missing and the user has the right'),
  CLICKHOUSE_USER: z.string().min(1).default('default').describe('user of ClickHouse'),
  CLICKHOUSE_PASSWORD: z.string().default('').describe('password of CLICKHOUSE_USER'),
  CLICKHOUSE_READ_USER: z
    .string()
    .min(1)
    .optional()
    .describe('read-only user of ClickHouse for the queries of the API; default: CLICKHOUSE_USER'),
  CLICKHOUSE_READ_PASSWORD: z.string().default('').describe('password of CLICKHOUSE_READ_USER'),
  CLICKHOUSE_CLUSTER: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_-]*$/, 'expected the name of a cluster')
    .optional()
    .describe('cluster on which replicated tables are created; default: a single server'),
  SERVICE_WAIT_SECONDS: integerSetting(60, 0, 3600).describe(
    'longest time that a process waits at its start for the services that its roles need',
  ),
  MIGRATE_ON_START: booleanSetting('true').describe(
    'migrate the schema at the start; with `false` a process waits until `chain-metrics migrate` has run',
  ),
};

/** Fixed limits that operators need not change. */
export const distributedBounds = {
  /** Session timeout of a consumer, after which its partitions are reassigned. */
  KAFKA_SESSION_MS: 30_000,
  /** Longest time that a command waits for Redis before it fails; further commands fail at once until Redis answers. */
  REDIS_SECONDS_MAX: 5,
  /** Time after which the lock of a dead process expires. */
  LEASE_MS: 15_000,
};

/** The settings of the distributed profile, including those that it shares with the embedded one. */
export type DistributedSettings = PortSettings &
  z.output<z.ZodObject<typeof distributedSettings>> &
  typeof distributedBounds;
