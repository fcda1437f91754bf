import kafkajs, { type Kafka, type KafkaConfig } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { limitDecompression } from './compression.ts';
import { kafkaAccess } from './kafka-access.ts';

const { Kafka: Client, logLevel } = kafkajs;

/** Age at which metadata are read again: producers and consumers find new partitions within this time. */
export const METADATA_MS = 5000;

/** A client of the brokers in the settings. */
export function openKafka(config: InfraSettings, logger: Logger): Kafka {
  limitDecompression({
    messageBytes: config.KAFKA_MESSAGE_BYTES,
    fetchBytes: config.KAFKA_DECOMPRESSED_BYTES,
  });
  return new Client({
    clientId: 'chain-metrics',
    brokers: config.KAFKA_BROKERS.split(','),
    ...kafkaAccess(config),
    connectionTimeout: 5000,
    requestTimeout: 30_000,
    retry: { initialRetryTime: 100, maxRetryTime: 2000, retries: 5 },
    logLevel: logLevel.WARN,
    logCreator: logTo(logger),
  });
}

/** kafkajs logs errors that it retries; it throws those that it cannot retry. */
const logTo =
  (logger: Logger): NonNullable<KafkaConfig['logCreator']> =>
  () =>
  ({ log: { message, error, ...facts }, level }) => {
    const { groupId: group, topic, broker } = facts as Record<string, unknown>;
    const text = { kafka: { message, reason: error && String(error), group, topic, broker } };
    if (level === logLevel.ERROR) logger.warn(text, 'Kafka');
    else logger.debug(text, 'Kafka');
  };

/** The errors of Kafka that another attempt cannot heal. */
export function kafkaRefusal(error: unknown): ProductError | null {
  if (error instanceof ProductError) return error;
  const reason = reasonOf(error);
  if (/SASL|authentication/i.test(`${(error as Error).name} ${reason}`)) {
    return new ProductError(
      'service_refused',
      'KAFKA_SASL, KAFKA_USER, KAFKA_PASSWORD: Kafka refuses this user, its password or the way to sign in',
      reason,
    );
  }
  if (/TOPIC_AUTHORIZATION|CLUSTER_AUTHORIZATION|GROUP_AUTHORIZATION|not authorized/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_USER: Kafka does not let this user do its work; README.md names the rights that it needs',
      reason,
    );
  }
  if (/certificate|self.signed|ssl3_|tlsv1/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_TLS, KAFKA_TLS_CA_FILE, KAFKA_TLS_CERT_FILE: this process and Kafka do not accept the certificates of each other',
      reason,
    );
  }
  if (/INVALID_REPLICATION_FACTOR|Replication-factor/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_REPLICATION: there are fewer brokers than that',
      reason,
    );
  }
  return null;
}
