import { z } from 'zod';
import { integerSetting } from '../../infra/config/setting-types.ts';
import { readTrustedProxies } from './client-address.ts';

const trustedProxies = z
  .string()
  .transform((text, context) => {
    const read = readTrustedProxies(text);
    if (read !== undefined) return read;
    context.addIssue(
      'expected `false`, the number of proxies in front (1 behind one nginx), or their addresses and networks such as `loopback,10.0.0.0/8`; `true` is not allowed, because callers could then forge their address',
    );
    return z.NEVER;
  })
  .default(false);

/** Settings of the HTTP servers. */
export const httpSettings = {
  HOST: z.string().min(1).default('127.0.0.1').describe('address to listen on'),
  PORT: integerSetting(3000, 0, 65_535).describe('port to listen on; 0 picks a free one'),
  ANONYMOUS_PER_MINUTE: integerSetting(600).describe(
    'requests per minute and address without a key; 0 = no limit',
  ),
  ANONYMOUS_PER_DAY: integerSetting(50_000).describe(
    'requests per day and address without a key; 0 = no limit',
  ),
  LIMITS_WITHOUT_REDIS: z
    .enum(['local', 'refuse'])
    .default('local')
    .describe('rate limiting while Redis is down: `local` counts per server, `refuse` answers 503'),
  TRUST_PROXY: trustedProxies.describe(
    'proxies whose X-Forwarded-For is trusted for the address of the caller: the number of proxies in a row, or their addresses and networks (also `loopback`, `uniquelocal`), separated by commas',
  ),
  ANONYMOUS_STORE_SECONDS: integerSetting(30).describe(
    'query time in seconds per minute for an address without a key; 0 = no limit',
  ),
  KEY_STORE_SECONDS: integerSetting(120).describe(
    'query time in seconds per minute for an account with a key, a token or a session; 0 = no limit',
  ),
  CONNECTIONS_MAX: integerSetting(1000, 1, 100_000).describe(
    'maximum open connections; new ones above it are closed',
  ),
  CONNECTIONS_PER_ADDRESS: integerSetting(200).describe(
    'maximum open connections per address, except trusted proxies; 0 = no limit',
  ),
  CACHE_BYTES: integerSetting(64 * 2 ** 20).describe('memory for cached answers'),
  STOP_SECONDS_MAX: integerSetting(20, 1).describe('maximum duration of a graceful stop'),
  STOP_DELAY_SECONDS: integerSetting(0, 0, 600).describe(
    'seconds that a stopping server reports not ready but still answers, so that load balancers remove it first',
  ),
  OPERATOR_HOST: z
    .string()
    .min(1)
    .default('127.0.0.1')
    .describe(
      'address on which every process of the distributed profile answers /health; processes without the role `serve` also answer /metrics on it',
    ),
  OPERATOR_PORT: integerSetting(9464, 0, 65_535).describe('port on OPERATOR_HOST; 0 picks a free one'),
  REVISION: z
    .string()
    .regex(/^[\w.-]{1,64}$/, 'expected up to 64 letters, digits, dots, dashes and underscores')
    .default('unknown')
    .describe('commit that the program was built from, for `chain_metrics_build_info`'),
};

/** Limits that operators have no reason to change. */
export const httpBounds = {
  /** Maximum number of rows in one response of a list; a cursor returns the rest. */
  LIST_ROWS_MAX: 10_000,
  /** Maximum number of rows in one response of a daily or monthly metric without `limit`; a cursor returns the rest. */
  SERIES_ROWS_MAX: 100_000,
  /** Memory for responses in flight; above it, new long responses get 503. */
  ANSWER_BYTES_MAX: 256 * 2 ** 20,
  /** Maximum queued queries; one caller may have a quarter of them. Above it, requests get 503. */
  READERS_WAITING_MAX: 200,
  /** Longest time that a query waits in the queue before it gets 503. */
  READER_WAIT_SECONDS_MAX: 10,
  /** Time for a request and its body to arrive before the connection is closed. */
  REQUEST_SECONDS_MAX: 30,
  /** Event loop delay in milliseconds above which requests get 503 with Retry-After; 0 = never. */
  EVENT_LOOP_DELAY_MS_MAX: 2000,
  /** Time for a client to read 256 KiB, or the rest of the response, before the connection is closed. */
  STALL_SECONDS_MAX: 20,
};

export type HttpSettings = z.output<z.ZodObject<typeof httpSettings>> & typeof httpBounds;
