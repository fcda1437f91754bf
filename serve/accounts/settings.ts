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
    .describe('public address of the service; default: the address that it listens on'),
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
    'seconds for which a refresh token that was used gets the same pair of tokens again, however often it is sent, as by several tabs; 0 is the safe choice',
  ),
  OAUTH_PASSWORD_WITHOUT_CLIENT: booleanSetting('true').describe(
    'whether the password grant is allowed without a registered application',
  ),
  OAUTH_RESOURCES: resourceList.describe(
    'APIs of other servers that accept tokens of this one: the URIs by which applications name them as `resource`, separated by commas',
  ),
  OAUTH_INSECURE_REDIRECTS: booleanSetting('false').describe(
    'allow redirect URIs with plain http on any host; for development only',
  ),
};

/** Bounds that operators have no reason to turn. */
export const identityBounds = {
  /** Failed sign-ins to an account, by the name that is typed, per browser or address in 15 minutes; five times as many in a day. */
  SIGN_IN_ATTEMPTS: 10,
  /** Sign-ins and sign-ups that may run or wait (of one browser or address: at most an eighth); beyond that 503. */
  SIGN_IN_WAITING_MAX: 256,
  /** Messages for a wallet to sign that an address may ask for in a minute; 0 = no limit. */
  WALLET_CHALLENGES_PER_MINUTE: 60,
  /** Seconds for which another process may still accept a revoked API key; 0 reads the store each time. */
  KEY_CACHE_SECONDS: 5,
  /** Keys, tokens and sessions a minute and address that are not valid; above it 429 for those that are not valid; 0 = no limit. */
  FAILED_KEYS_PER_MINUTE: 300,
  /** Requests to /oauth a minute and address, beyond that a minute and account for valid tokens and sessions; 0 = no limit. */
  OAUTH_PER_MINUTE: 1200,
};
