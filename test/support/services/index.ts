import { startClickHouse } from './clickhouse.ts';
import { startKafka } from './kafka.ts';
import { startRedis } from './redis.ts';
import type { Service } from './service.ts';

/** The three services that a distributed deployment stands on. */
export interface Services extends AsyncDisposable {
  readonly kafka: Service;
  readonly redis: Service;
  readonly clickhouse: Service;
  /** The environment of a process that uses them. */
  environment(more?: Readonly<Record<string, string>>): Record<string, string>;
  close(): Promise<void>;
}

/** Short times, so that what died is missed soon; few partitions, since all of it runs on one machine. */
const QUICK = {
  PROFILE: 'distributed',
  LOG_LEVEL: 'silent',
  KAFKA_PARTITIONS: '3',
  KAFKA_SESSION_MS: '6000',
  LEASE_MS: '3000',
  SWEEP_SECONDS: '1',
  SERVICE_WAIT_SECONDS: '60',
  OPERATOR_PORT: '0',
};

export async function startServices(): Promise<Services> {
  const [kafka, redis, clickhouse] = await Promise.all([startKafka(), startRedis(), startClickHouse()]);
  const close = async () => {
    await Promise.all([kafka.close(), redis.close(), clickhouse.close()]);
  };
  return {
    kafka,
    redis,
    clickhouse,
    environment: (more = {}) => ({ ...QUICK, ...addresses({ kafka, redis, clickhouse }), ...more }),
    close,
    [Symbol.asyncDispose]: close,
  };
}

export function addresses({ kafka, redis, clickhouse }: Pick<Services, 'kafka' | 'redis' | 'clickhouse'>) {
  return {
    KAFKA_BROKERS: `${kafka.host}:${kafka.port}`,
    REDIS_URL: `redis://${redis.host}:${redis.port}`,
    CLICKHOUSE_URL: `http://${clickhouse.host}:${clickhouse.port}`,
  };
}
