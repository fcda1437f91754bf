/** Values that the chart refuses, and what the refusal says. */
export const REFUSED_VALUES: Readonly<Record<string, { readonly values: object; readonly says: string }>> = {
  'a number as text': {
    values: { load: { replicas: 'two' } },
    says: "at '/load/replicas': got string, want integer",
  },
  'a role that does not exist': {
    values: { worker: {} },
    says: "additional properties 'worker' not allowed",
  },
  'a setting that does not exist': {
    values: { settings: { KAFKA_BROKER: 'kafka:9092' } },
    says: "at '/settings': additional properties 'KAFKA_BROKER' not allowed",
  },
  'a value that a setting does not accept': {
    values: { settings: { KAFKA_SASL: 'PLAIN' } },
    says: "at '/settings/KAFKA_SASL': value must be one of 'none', 'plain', 'scram-sha-256'",
  },
  'a setting that the chart decides': {
    values: { serve: { settings: { PORT: 8080 } } },
    says: "at '/serve/settings': additional properties 'PORT' not allowed",
  },
  'a password among the settings': {
    values: { settings: { CLICKHOUSE_PASSWORD: 'x' } },
    says: "at '/settings': additional properties 'CLICKHOUSE_PASSWORD' not allowed",
  },
  'a password in an address': {
    values: { settings: { REDIS_URL: 'redis://:x@redis:6379' } },
    says: "at '/settings/REDIS_URL': 'redis://:x@redis:6379' does not match pattern",
  },
  'a password instead of a Secret': {
    values: { secrets: { KAFKA_PASSWORD: 'x' } },
    says: "at '/secrets/KAFKA_PASSWORD': got string, want null or object",
  },
  'servers without a key': {
    values: { secrets: { SECRETS_KEY: null } },
    says: "at '/secrets': missing property 'SECRETS_KEY'",
  },
  'a missing setting': {
    values: { settings: { STOP_SECONDS_MAX: null } },
    says: "at '/settings': missing property 'STOP_SECONDS_MAX'",
  },
  'another way to scale': {
    values: { work: { autoscaling: { by: 'lag' } } },
    says: "at '/work/autoscaling/by': value must be one of 'none', 'cpu', 'queue'",
  },
  'a queue without Prometheus': {
    values: { work: { autoscaling: { by: 'queue' } } },
    says: 'work.autoscaling.prometheusUrl: the address of Prometheus is needed to scale by queue',
  },
  'a source without a chain': {
    values: { ingest: { followers: { a: 'http://sidecar:8080' } } },
    says: "at '/ingest/followers/a': 'http://sidecar:8080' does not match pattern",
  },
};
