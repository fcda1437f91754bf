import { promisify } from 'node:util';
import { constants, zstdCompress, zstdDecompress } from 'node:zlib';
import kafkajs, { type Kafka, type KafkaConfig } from 'kafkajs';
import type { InfraSettings } from '../config/settings.ts';
import { ProductError, reasonOf } from '../errors.ts';
import type { Logger } from '../logger.ts';
import { kafkaAccess } from './kafka-access.ts';

const { CompressionCodecs, CompressionTypes, Kafka: Client, logLevel } = kafkajs;
export const ZSTD = CompressionTypes.ZSTD;

/** Age at which metadata are read again: producers and consumers find new partitions within this time. */
export const METADATA_MS = 5000;

const compress = promisify(zstdCompress);
const decompress = promisify(zstdDecompress);
/** The fastest level: messages are stored for days only. */
const LEVEL = { [constants.ZSTD_c_compressionLevel]: 1 };
/** Each chunk of a result costs a call to another thread, so that one chunk should hold all of it. */
const chunkFor = (bytes: number) => ({ chunkSize: Math.max(64 * 1024, Math.ceil(bytes)) });
/** Most blocks compress to less than half, and decompress to less than five times their size. */
const COMPRESSED_RATIO = 0.5;
const DECOMPRESSED_RATIO = 5;
CompressionCodecs[ZSTD] = () => ({
  compress: ({ buffer }: { buffer: Buffer }) =>
    compress(buffer, { params: LEVEL, ...chunkFor(buffer.length * COMPRESSED_RATIO) }),
  decompress: (buffer: Buffer) => decompress(buffer, chunkFor(buffer.length * DECOMPRESSED_RATIO)),
});

/** A client of the brokers in the settings. */
export function openKafka(config: InfraSettings, logger: Logger): Kafka {
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
