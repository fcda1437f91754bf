import { z } from 'zod';
import { booleanSetting, integerSetting } from './setting-types.ts';

/** Attempts of a computation before it counts as failed. */
export const JOB_ATTEMPTS = 5;
/** The wait before the second attempt of a job; each later one doubles. */
export const JOB_BACKOFF_MS = 200;
/** Longest time that /health/ready waits for a service. */
export const READY_SECONDS_MAX = 5;

/** Settings of both profiles: the store, the log and the queue. */
export const portSettings = {
  PROFILE: z
    .enum(['embedded', 'distributed'])
    .default('embedded')
    .describe('one process with chDB, or many processes over Kafka, Redis and ClickHouse'),
  DATA_DIR: z.string().min(1).default('./data').describe('directory for everything that is stored'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('lowest level of the log lines that are written'),
  QUERY_SECONDS_MAX: integerSetting(60, 1).describe('longest time that one query of a reader may run'),
  STORE_CONNECTIONS: integerSetting(4, 2, 64).describe('concurrent queries of loading, computing and alerts'),
  READER_CONNECTIONS: integerSetting(6, 1, 64).describe(
    'concurrent queries of the API and the pages; one caller gets at most half of them',
  ),
  STORE_MEMORY_BYTES: integerSetting(2 ** 31, 2 ** 28).describe(
    'memory limit of chDB in the embedded profile; in both profiles a part of it limits a query of `sql` and `export-raw`',
  ),
  DISK_FREE_BYTES_MIN: integerSetting(64 * 2 ** 20).describe(
    'minimum of free bytes on the disk of the store; below it the process is not ready',
  ),
  STORE_FSYNC: booleanSetting('false').describe(
    'force every write to the disk before it is acknowledged, so that it survives a power loss and not only kill -9',
  ),
  BATCH_BYTES: integerSetting(48 * 2 ** 20, 1024).describe(
    'largest batch of input that one statement loads, in bytes',
  ),
};

export type PortSettings = z.output<z.ZodObject<typeof portSettings>>;
