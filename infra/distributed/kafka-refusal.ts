import { ProductError } from '../errors.ts';

/** Age after which the client reads the metadata of topics again. */
export const METADATA_MS = 5000;

/** Describes an error with its cause and its aggregated errors. */
export function describeKafkaError(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { name, type, apiId, message, errors, cause } = error as Record<string, unknown>;
  const others = [...(Array.isArray(errors) ? errors : []), ...(cause ? [cause] : [])];
  return [name, type, apiId, message, ...others.map(describeKafkaError)].filter(Boolean).join(' ');
}

/** Maps the description of an error that no retry can fix to `service_refused`. */
export function kafkaRefusal(reason: string): ProductError | null {
  if (/SASL|authentication/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_SASL, KAFKA_USER, KAFKA_PASSWORD: Kafka refuses this user, its password or the way to sign in',
      reason,
    );
  }
  if (/TOPIC_AUTHORIZATION|CLUSTER_AUTHORIZATION|GROUP_AUTHORIZATION|not authorized/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_USER: this user lacks rights in Kafka; the guide /docs/guides/distributed lists them',
      reason,
    );
  }
  if (/certificate|self.signed|ssl3_|tlsv1/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_TLS, KAFKA_TLS_CA_FILE, KAFKA_TLS_CERT_FILE: the TLS handshake with Kafka failed: one side does not trust the certificate of the other',
      reason,
    );
  }
  if (/INVALID_REPLICATION_FACTOR|Replication-factor/i.test(reason)) {
    return new ProductError(
      'service_refused',
      'KAFKA_REPLICATION: Kafka has fewer brokers than this',
      reason,
    );
  }
  return null;
}
