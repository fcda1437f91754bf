import { resolve } from 'node:path';
import { z } from 'zod';
import { accountSettings } from '../../serve/identity/settings.ts';
import { distributedSettings } from '../distributed/settings.ts';
import { ProductError } from '../errors.ts';
import { whole, yesNo } from './kinds.ts';

const followedSource = z
  .string()
  .regex(/^[^=]+=https?:\/\/.+$/, 'expected CHAIN=URL, such as polkadot=http://127.0.0.1:8080')
  .transform((text) => {
    const at = text.indexOf('=');
    return { chain: text.slice(0, at), url: text.slice(at + 1) };
  });

/**
 * Every setting of the product: environment name, range, default and meaning. Help text, the README's table
 * and the start-up check all read this one object.
 */
export const settings = z.object({
  PROFILE: z
    .enum(['embedded', 'distributed'])
    .default('embedded')
    .describe('how the parts are run: one process with chDB, or many over Kafka, Redis and ClickHouse'),
  HOST: z.string().min(1).default('127.0.0.1').describe('address to listen on'),
  PORT: whole(3000, 0, 65_535).describe('port to listen on; 0 takes a free one'),
  DATA_DIR: z.string().min(1).default('./data').describe('directory that holds everything that is kept'),
  CHAINS_FILE: z.string().optional().describe('JSON file with chains to add to the registry'),
  FOLLOW: z
    .string()
    .default('')
    .transform((text) =>
      text
        .split(',')
        .map((one) => one.trim())
        .filter((one) => one !== ''),
    )
    .pipe(z.array(followedSource))
    .describe('sources whose new blocks `start` takes in, as CHAIN=URL of a Sidecar, separated by commas'),
  FOLLOW_BEST: yesNo('false').describe('with FOLLOW: also blocks that are not final yet'),
  FOLLOW_SNAPSHOTS: yesNo('true').describe('with FOLLOW: also the state of the chains, once a UTC day'),
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
  ...accountSettings,
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
  ALERT_BODY_BYTES_MAX: whole(2 ** 20, 1024, 2 ** 26).describe('largest body of an alert request'),
  ALERT_DEPTH_MAX: whole(100, 1, 1000).describe(
    'how deep lists and objects of an alert may stand in each other',
  ),
  ALERT_TITLE_CHARACTERS: whole(200, 10, 10_000).describe('longest title of an alert; longer ones are cut'),
  ALERT_DESCRIPTION_CHARACTERS: whole(1000, 10, 100_000).describe(
    'longest description of an alert; longer ones are cut',
  ),
  ALERT_RETRY_WINDOW_SECONDS: whole(60, 0, 86_400).describe(
    'time after a delivery in which the same one sent again does not count',
  ),
  ALERT_IDEMPOTENCY_HOURS: whole(24, 0, 168).describe('time for which an Idempotency-Key is remembered'),
  ALERT_RETRY_KEYS_MAX: whole(1_000_000, 1000).describe(
    'deliveries of a project that are remembered to know retries; the oldest are forgotten first',
  ),
  ALERT_OPEN_CACHED: whole(100_000, 0).describe('unresolved alerts of a project that are kept in memory'),
  ALERT_PENDING_BYTES_MAX: whole(128 * 2 ** 20, 2 ** 16).describe(
    'bytes of alerts that may wait to be written; above it requests are answered with 503',
  ),
  ALERT_LOG_SECONDS_MAX: whole(5, 1, 60).describe(
    'longest time in which the log has to keep an alert; above it requests are answered with 503',
  ),
  ALERT_ANSWER_SECONDS_MAX: whole(10, 1, 60).describe(
    'longest time in which an alert that is safe waits to be told what it became; then the answer is `[]`, or 503 to a named delivery',
  ),
  ALERT_PRIVATE_TARGETS: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('whether webhooks and on-call links may lead to private addresses'),
  ALERT_PLAN: z
    .enum(['free', 'premium'])
    .default('premium')
    .describe(
      'plan of new projects: free has one HTTP endpoint, no mapping, and groups by given fingerprints only',
    ),
  ...distributedSettings,
});

export type Config = z.output<typeof settings>;

/** Settings whose value nobody may read over a shoulder or out of a log: never shown. */
export const isSecretSetting = (name: string): boolean => /_(PASSWORD|KEY)$|^REDIS_URL$/.test(name);

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
    const shown = isSecretSetting(name) ? '…' : given[name];
    const line = `${name}=${shown}: ${issue?.message}`.replace(/\s+/g, ' ');
    throw new ProductError('setting_invalid', line);
  }
  return { ...read.data, DATA_DIR: resolve(read.data.DATA_DIR) };
}
