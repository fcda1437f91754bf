import { resolve } from 'node:path';
import { z } from 'zod';
import { ProductError } from './errors.ts';

const whole = (fallback: number, min = 0, max = Number.MAX_SAFE_INTEGER) =>
  z
    .string()
    .regex(/^-?\d+$/, 'expected a whole number')
    .transform(Number)
    .pipe(z.int().min(min).max(max))
    .default(fallback);

/**
 * Every setting of the product: environment name, range, default and meaning. Help text, the README's table
 * and the start-up check all read this one object.
 */
export const settings = z.object({
  PROFILE: z.enum(['embedded']).default('embedded').describe('how the parts are run: one process with chDB'),
  HOST: z.string().min(1).default('127.0.0.1').describe('address to listen on'),
  PORT: whole(3000, 0, 65_535).describe('port to listen on; 0 takes a free one'),
  DATA_DIR: z.string().min(1).default('./data').describe('directory that holds everything that is kept'),
  CHAINS_FILE: z.string().optional().describe('JSON file with chains to add to the registry'),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'silent'])
    .default('info')
    .describe('least severe log line to write'),
  ANONYMOUS_PER_MINUTE: whole(600).describe('requests a minute and address without a key; 0 = no limit'),
  ANONYMOUS_PER_DAY: whole(50_000).describe('requests a day and address without a key; 0 = no limit'),
  TRUST_PROXY: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('take the caller from X-Forwarded-For; only behind a proxy that sets it'),
  LIST_ROWS_MAX: whole(10_000, 1, 1_000_000).describe(
    'rows of one answer of a record list; the rest by cursor',
  ),
  CACHE_BYTES: whole(64 * 2 ** 20).describe('memory for finished answers'),
  QUERY_SECONDS_MAX: whole(60, 1).describe('longest time one query of a reader may run'),
  STORE_CONNECTIONS: whole(4, 2, 64).describe('queries that run at the same time'),
  STORE_MEMORY_BYTES: whole(2 ** 31, 2 ** 28).describe('memory that the engine may take'),
  STORE_FSYNC: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('force every write to the disk before it is acknowledged (power loss, not only kill -9)'),
  BATCH_BYTES: whole(32 * 2 ** 20, 1024).describe('bytes of input that are loaded in one statement'),
  LINE_BYTES_MAX: whole(64 * 2 ** 20, 1024).describe('longest line of an input file'),
  DEAD_LETTER_BYTES_MAX: whole(64 * 1024).describe('bytes of a refused line that are kept with its reason'),
  JOB_ATTEMPTS: whole(5, 1, 100).describe('tries of a computation before it is kept as failed'),
  STOP_SECONDS_MAX: whole(20, 1).describe('longest time a graceful stop may take'),
});

export type Config = z.output<typeof settings>;

/** Reads the environment; a wrong value is one line that names the setting and says what is accepted. */
export function readConfig(env: Record<string, string | undefined> = process.env): Config {
  const given = Object.fromEntries(
    Object.keys(settings.shape)
      .filter((name) => env[name] !== undefined && env[name] !== '')
      .map((name) => [name, env[name]]),
  );
  const read = settings.safeParse(given);
  if (!read.success) {
    const [issue] = read.error.issues;
    const name = String(issue?.path[0]);
    const line = `${name}=${given[name]}: ${issue?.message}`.replace(/\s+/g, ' ');
    throw new ProductError('setting_invalid', line);
  }
  return { ...read.data, DATA_DIR: resolve(read.data.DATA_DIR) };
}
