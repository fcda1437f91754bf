import { resolve } from 'node:path';
import { z } from 'zod';
import { distributedSettings } from './distributed/settings.ts';
import { ProductError } from './errors.ts';
import { whole } from './setting-kinds.ts';

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
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address without a path' })
    .refine((url) => /^https?:\/\/[^/?#@]+\/?$/.test(url), 'expected an http or https address without a path')
    .transform((url) => url.replace(/\/$/, ''))
    .optional()
    .describe('address that people and applications reach the service by; http://localhost:PORT when absent'),
  SECRETS_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/_-]{43}=?$/, 'expected 32 bytes as base64')
    .optional()
    .describe('key that signs forms and seals two-factor secrets; made and kept in DATA_DIR when absent'),
  SIGN_UP: z
    .enum(['open', 'closed'])
    .default('open')
    .describe('whether people may make accounts by themselves'),
  SIGN_IN_ATTEMPTS: whole(10, 1, 1000).describe(
    'failed sign-ins of an account from one address in 15 minutes; ten times as many of all accounts or addresses',
  ),
  SESSION_HOURS: whole(24 * 14, 1, 24 * 365).describe('hours after which an unused session ends'),
  KEYS_PER_ACCOUNT: whole(50, 1, 1000).describe(
    'live API keys, personal access tokens or wallets of one account',
  ),
  APPLICATIONS_PER_ACCOUNT: whole(50, 1, 1000).describe('applications that one account may register'),
  KEY_CACHE_SECONDS: whole(5, 0, 60).describe(
    'time for which another process may still honour an API key that was revoked; 0 asks each time',
  ),
  OAUTH_CODE_SECONDS: whole(600, 1, 600).describe('lifetime of an authorization code'),
  OAUTH_ACCESS_SECONDS: whole(7200, 1).describe('lifetime of an access token'),
  OAUTH_REFRESH_DAYS: whole(365, 1, 3650).describe('lifetime of a refresh token that is not used'),
  OAUTH_REFRESH_GRACE_SECONDS: whole(0, 0, 60).describe(
    'time for which the refresh token before the newest is still honoured; 0 is the safe choice',
  ),
  OAUTH_PASSWORD_WITHOUT_CLIENT: z
    .enum(['true', 'false'])
    .default('true')
    .transform((value) => value === 'true')
    .describe('whether the password grant may be used without a registered application'),
  OAUTH_INSECURE_REDIRECTS: z
    .enum(['true', 'false'])
    .default('false')
    .transform((value) => value === 'true')
    .describe('accept redirect addresses with plain http on any host; for development only'),
  OAUTH_PER_MINUTE: whole(1200).describe('requests a minute and address to /oauth; 0 = no limit'),
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
  ALERT_ANSWER_SECONDS_MAX: whole(10, 1, 60).describe(
    'longest time in which an alert that is safe waits to be told what it became',
  ),
  ALERT_PLAN: z
    .enum(['free', 'premium'])
    .default('premium')
    .describe(
      'plan of new projects: free has one HTTP endpoint, no mapping, and groups by given fingerprints only',
    ),
  ...distributedSettings,
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
