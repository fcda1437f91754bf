import { z } from 'zod';
import { distributedSettings } from '../distributed/settings.ts';
import { whole, yesNo } from './kinds.ts';

/** Settings of the ports: the profile, the store, the log and the queue. */
export const infraSettings = {
  PROFILE: z
    .enum(['embedded', 'distributed'])
    .default('embedded')
    .describe('how the parts are run: one process with chDB, or many over Kafka, Redis and ClickHouse'),
  DATA_DIR: z.string().min(1).default('./data').describe('directory that holds everything that is kept'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('least severe log line to write'),
  QUERY_SECONDS_MAX: whole(60, 1).describe('longest time one query of a reader may run'),
  STORE_CONNECTIONS: whole(4, 2, 64).describe('queries that run at the same time'),
  STORE_MEMORY_BYTES: whole(2 ** 31, 2 ** 28).describe('memory that the engine may take'),
  STORE_FSYNC: yesNo('false').describe(
    'force every write to the disk before it is acknowledged (power loss, not only kill -9)',
  ),
  BATCH_BYTES: whole(32 * 2 ** 20, 1024).describe('bytes of input that are loaded in one statement'),
  JOB_ATTEMPTS: whole(5, 1, 100).describe('tries of a computation before it is kept as failed'),
  ...distributedSettings,
};

export type InfraSettings = z.output<z.ZodObject<typeof infraSettings>>;
