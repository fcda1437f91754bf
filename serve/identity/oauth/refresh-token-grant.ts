import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { holderOf, remainingScopes, revoked } from '../../accounts/grants.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Grant } from '../../accounts/tables.ts';
import { readToken, refreshParts, type Token } from '../../accounts/tokens.ts';
import type { Form } from '../../http/form.ts';
import { signIdToken } from '../openid/id-token.ts';
import { authenticateClient } from './client.ts';
import { OAuthError } from './errors.ts';
import { newPair, type PairSecrets, repeatedResponse, type TokenResponse, withPair } from './issue.ts';
import { optional, required } from './parameters.ts';
import { checkVerifierSyntax, isProven } from './pkce.ts';
import { emptyScope, readScopes } from './requested-scopes.ts';
import { readAudience, requireAudienceWithin } from './resources.ts';

/**
 * RFC 6749 §6 with rotation (RFC 9700 §4.14.2): a refresh token is exchanged for a new pair, which invalidates the old pair.
 * A refresh token that is used twice may be stolen, so the grant is revoked. Within OAUTH_REFRESH_GRACE_SECONDS,
 * a second use is a retry, and gets the same pair.
 */
export async function refresh(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
  issuer: () => string,
): Promise<TokenResponse> {
  const application = await authenticateClient(accounts, request, form);
  const text = required(form, 'refresh_token');
  const verifier = optional(form, 'code_verifier');
  checkVerifierSyntax(verifier);
  const token = readToken(text);
  if (token?.kind !== 'refresh') throw refused();
  const { family, own } = refreshParts(token);

  const response = await accounts.grants.change(token.id, async (grant) => {
    const isOwn =
      grant !== null &&
      isSecretOf(grant.family_hash, family) &&
      grant.application_id === application.id &&
      matches(grant, optional(form, 'redirect_uri'), verifier);
    if (!isOwn || grant.revoked_ms > 0) throw refused();
    const now = accounts.clock.now();
    const secrets = nextPair(accounts, token);
    const isRetry = isRetryInGrace(accounts, grant, token, secrets, now);
    if (!isRetry && !isSecretOf(grant.refresh_hash, own)) {
      return { next: revoked(grant, now), result: null };
    }
    if (grant.refresh_expires_ms <= now) throw refused();
    const holder = await holderOf(accounts, grant);
    if (typeof holder === 'string') throw refused();
    const scopes = scopesOf(remainingScopes(grant.scopes, holder.application), optional(form, 'scope'));
    const access_resources = readAudience(form, accounts, issuer, grant.resources);
    const withIdToken = async (response: TokenResponse, scopes: readonly string[]) => {
      const content = { grant, user: holder.user, application, scopes, accessToken: response.access_token };
      const id_token = await signIdToken(accounts, { ...content, issuer: issuer(), isRefresh: true });
      return { ...response, id_token };
    };
    if (isRetry) {
      const pairScopes = remainingScopes(grant.access_scopes, holder.application);
      requireSameScopes(pairScopes, scopes);
      requireAudienceWithin(grant.access_resources, access_resources);
      return {
        result: await withIdToken(repeatedResponse(grant, pairScopes, now, secrets), pairScopes),
      };
    }
    const pair = withPair(accounts, { ...grant, access_resources }, scopes, now, secrets);
    return { next: pair.grant, result: await withIdToken(pair.response, scopes) };
  });
  if (response === null) throw refused();
  return response;
}

/**
 * The pair that replaces a refresh token. Without a grace it is random. With a grace it is derived from the token and the
 * server's key, so every process can compute it again for a retry, although only hashes are stored.
 */
function nextPair({ settings, seal }: Accounts, token: Token): PairSecrets {
  const { family } = refreshParts(token);
  if (settings.OAUTH_REFRESH_GRACE_SECONDS === 0) return newPair(family);
  return {
    family,
    own: seal.sign('next refresh token', token.secret),
    access: seal.sign('next access token', token.secret),
  };
}

/** Whether the token was already exchanged, within the grace, and its new pair is still the newest of the grant. */
function isRetryInGrace(
  { settings }: Accounts,
  grant: Grant,
  token: Token,
  { own }: PairSecrets,
  now: number,
): boolean {
  const isInGrace = now - grant.refreshed_ms < settings.OAUTH_REFRESH_GRACE_SECONDS * 1000;
  return (
    isInGrace &&
    isSecretOf(grant.previous_refresh_hash, refreshParts(token).own) &&
    isSecretOf(grant.refresh_hash, own)
  );
}

/** Refuses a retry with fewer scopes, because its pair is issued already. */
function requireSameScopes(pairScopes: readonly string[], requested: readonly string[]): void {
  const more = pairScopes.filter((scope) => !requested.includes(scope));
  if (more.length === 0) return;
  throw new OAuthError(
    'invalid_scope',
    `The refresh token was exchanged with the scope ${more.join(' ')} as well. Use the new refresh token to request fewer scopes.`,
  );
}

/** Whether optional parameters, if sent, have the values of the authorization request. */
function matches(grant: Grant, redirectUri: string, verifier: string): boolean {
  return (
    (redirectUri === '' || redirectUri === grant.redirect_uri) &&
    (verifier === '' || isProven(grant.code_challenge, verifier))
  );
}

/** The requested scopes, which must be among `remaining`; all of `remaining` if none are requested (RFC 6749 §6). */
function scopesOf(remaining: readonly string[], wanted: string): readonly string[] {
  if (remaining.length === 0) {
    throw new OAuthError(
      'invalid_grant',
      'The application has lost all scopes that the user granted. Request a new authorization.',
    );
  }
  if (wanted === '') return remaining;
  const scopes = readScopes(wanted, remaining, 'the scopes that the user granted');
  if (scopes.length === 0) throw emptyScope();
  return scopes;
}

const refused = () =>
  new OAuthError(
    'invalid_grant',
    'The refresh token is unknown, expired, used or revoked, or does not belong to this client, redirect_uri or code_verifier.',
  );
