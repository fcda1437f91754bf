import { z } from 'zod';
import { booleanSetting, integerSetting } from '../../infra/config/setting-types.ts';
import { readResourceList } from './resource.ts';

const resourceList = z
  .string()
  .transform((text, context) => {
    const read = readResourceList(text);
    if (read !== undefined) return read;
    context.addIssue('expected absolute URIs without a fragment, separated by commas');
    return z.NEVER;
  })
  .default([]);

/** Settings of accounts, sign-in, keys and OAuth. */
export const identitySettings = {
  PUBLIC_URL: z
    .url({ protocol: /^https?$/, message: 'expected an http or https address without a path' })
    .refine((url) => /^https?:\/\/[^/?#@]+\/?$/.test(url), 'expected an http or https address without a path')
    .transform((url) => url.replace(/\/$/, ''))
    .optional()
    .describe('public URL of the service; default: the address that it listens on'),
  SECRETS_KEY: z
    .string()
    .regex(/^[A-Za-z0-9+/_-]{43}=?$/, 'expected 32 bytes as base64')
    .optional()
    .describe(
      'key that signs forms and encrypts two-factor secrets; the same for all servers of a deployment; default: generated and stored in DATA_DIR',
    ),
  SIGN_UP: z
    .enum(['open', 'closed'])
    .default('open')
    .describe('whether people may create accounts themselves'),
  SESSION_HOURS: integerSetting(24 * 14, 1, 24 * 365).describe('hours after which an unused session ends'),
  OAUTH_CODE_SECONDS: integerSetting(600, 1, 600).describe('lifetime of an authorization code'),
  OAUTH_ACCESS_SECONDS: integerSetting(7200, 1).describe('lifetime of an access token'),
  OAUTH_REFRESH_DAYS: integerSetting(365, 1, 3650).describe('lifetime of an unused refresh token'),
  OAUTH_REFRESH_GRACE_SECONDS: integerSetting(0, 0, 60).describe(
    'seconds after a refresh in which the old refresh token returns the same new tokens again, for clients that refresh in parallel; 0 is safest',
  ),
  OAUTH_PASSWORD_WITHOUT_CLIENT: booleanSetting('true').describe(
    'whether the password grant is allowed without a registered application',
  ),
  OAUTH_RESOURCES: resourceList.describe(
    'URIs of other APIs that accept tokens of this server, separated by commas; applications request such tokens with `resource`',
  ),
  OAUTH_INSECURE_REDIRECTS: booleanSetting('false').describe(
    'allow redirect URIs with plain http on any host; for development only',
  ),
};

/** Bounds that operators have no reason to change. */
export const identityBounds = {
  /** Failed sign-ins in 15 minutes, for each typed name together with a browser or an address; in a day five times as many. */
  SIGN_IN_ATTEMPTS: 10,
  /** Sign-ins and sign-ups that may run or wait; a browser or address may use an eighth of them. Above it 503. */
  SIGN_IN_WAITING_MAX: 256,
  /** Wallet challenges per address and minute; 0 = no limit. */
  WALLET_CHALLENGES_PER_MINUTE: 60,
  /**
   * Seconds for which the metrics API of another process may still accept a key or token that was revoked, or whose user
   * was locked or application blocked; 0 = checked at each request.
   */
  KEY_CACHE_SECONDS: 5,
  /** Invalid keys, tokens and sessions per address and minute; above it an invalid credential gets 429; 0 = no limit. */
  FAILED_KEYS_PER_MINUTE: 300,
  /** Requests to /oauth per address and minute; above it the limit applies per account of a valid token or session; 0 = no limit. */
  OAUTH_PER_MINUTE: 1200,
};
