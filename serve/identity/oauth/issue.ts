import { DAY_MS } from '../../../infra/days.ts';
import { type Accounts, ENDED_ROW_TTL_MS } from '../../accounts/accounts.ts';
import type { NewGrant } from '../../accounts/grants.ts';
import { hashSecret, newSecret } from '../../accounts/secrets.ts';
import type { Grant } from '../../accounts/tables.ts';
import { makeToken } from '../../accounts/tokens.ts';

/** The response of `POST /oauth/token`. The password grant omits the three optional fields. */
export interface TokenResponse {
  readonly access_token: string;
  readonly token_type: 'bearer';
  /** Seconds. */
  readonly expires_in: number;
  readonly scope: string;
  readonly refresh_token?: string;
  /** Only with the scope `openid`, and never from the password grant. */
  readonly id_token?: string | undefined;
  /** Unix time in seconds. */
  readonly created_at?: number;
}

/** The grant with a new access token in place of the old one. */
export function withAccess(
  { settings }: Accounts,
  grant: NewGrant,
  scopes: readonly string[],
  now: number,
  secret = newSecret(),
): { grant: NewGrant; response: TokenResponse } {
  const seconds = settings.OAUTH_ACCESS_SECONDS;
  const access = makeToken('access', grant.id, secret);
  const expires = now + seconds * 1000;
  return {
    grant: {
      ...grant,
      access_hash: hashSecret(access.secret),
      access_scopes: scopes,
      access_created_ms: now,
      access_expires_ms: expires,
      expires_ms: Math.max(grant.refresh_expires_ms, expires) + ENDED_ROW_TTL_MS,
    },
    response: {
      access_token: access.text,
      token_type: 'bearer',
      expires_in: seconds,
      scope: scopes.join(' '),
    },
  };
}

/** The secrets of a pair of tokens. */
export interface PairSecrets {
  /** The first part of the refresh token's secret, which all refresh tokens of a grant share. */
  readonly family: string;
  /** The second part, which differs in each refresh token. */
  readonly own: string;
  readonly access: string;
}

export const newPair = (family = newSecret()): PairSecrets => ({
  family,
  own: newSecret(),
  access: newSecret(),
});

/** The grant with a new pair of tokens in place of the old one. */
export function withPair(
  accounts: Accounts,
  grant: NewGrant,
  scopes: readonly string[],
  now: number,
  { family, own, access }: PairSecrets = newPair(),
): { grant: NewGrant; response: TokenResponse } {
  const refresh = makeToken('refresh', grant.id, family + own);
  const rotated: NewGrant = {
    ...grant,
    family_hash: hashSecret(family),
    refresh_hash: hashSecret(own),
    previous_refresh_hash: grant.refresh_hash,
    refreshed_ms: now,
    refresh_expires_ms: now + accounts.settings.OAUTH_REFRESH_DAYS * DAY_MS,
  };
  const { grant: next, response } = withAccess(accounts, rotated, scopes, now, access);
  return {
    grant: next,
    response: { ...response, refresh_token: refresh.text, created_at: Math.floor(now / 1000) },
  };
}

/** Repeats the response with the newest pair of a grant. */
export function repeatedResponse(
  { id, access_expires_ms, access_created_ms }: Grant,
  scopes: readonly string[],
  now: number,
  { family, own, access }: PairSecrets,
): TokenResponse {
  return {
    access_token: makeToken('access', id, access).text,
    token_type: 'bearer',
    expires_in: Math.max(0, Math.ceil((access_expires_ms - now) / 1000)),
    scope: scopes.join(' '),
    refresh_token: makeToken('refresh', id, family + own).text,
    created_at: Math.floor(access_created_ms / 1000),
  };
}
