import type { FastifyRequest } from 'fastify';
import type { Form } from '../../../http/form.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { holderOf, revoked, scopesLeft } from '../../accounts/grants.ts';
import { readScopes } from '../../accounts/scopes.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Grant } from '../../accounts/tables.ts';
import { readToken, refreshParts } from '../../accounts/tokens.ts';
import { authenticateClient } from '../client.ts';
import { OAuthError } from '../errors.ts';
import { type TokenResponse, withPair } from '../issue.ts';
import { optional, required } from '../parameters.ts';
import { checkVerifierSyntax, isProven } from '../pkce.ts';

/**
 * RFC 6749 §6 with rotation (RFC 9700 §4.14.2): a refresh token is exchanged for a new pair, which invalidates the old
 * pair. A refresh token that is used again was stolen, so the whole grant is revoked.
 */
export async function refresh(
  accounts: Pick<Accounts, 'users' | 'applications' | 'grants' | 'clock' | 'settings' | 'failures'>,
  request: FastifyRequest,
  form: Form,
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
    if (!isCurrent(accounts, grant, own, now)) return { next: revoked(grant, now), result: null };
    if (grant.refresh_expires_ms <= now) throw refused();
    const holder = await holderOf(accounts, grant);
    if (typeof holder === 'string') throw refused();
    const scopes = scopesOf(scopesLeft(grant.scopes, holder.application), optional(form, 'scope'));
    const pair = withPair(accounts, grant, scopes, now, family);
    return { next: pair.grant, result: pair.response };
  });
  if (response === null) throw refused();
  return response;
}

function isCurrent(
  { settings }: Pick<Accounts, 'settings'>,
  grant: Grant,
  own: string,
  now: number,
): boolean {
  if (isSecretOf(grant.refresh_hash, own)) return true;
  const isInGrace = now - grant.refreshed_ms < settings.OAUTH_REFRESH_GRACE_SECONDS * 1000;
  return isInGrace && isSecretOf(grant.previous_refresh_hash, own);
}

/** Optional parameters must have the values of the authorization request. */
function matches(grant: Grant, redirectUri: string, verifier: string): boolean {
  return (
    (redirectUri === '' || redirectUri === grant.redirect_uri) &&
    (verifier === '' || isProven(grant.code_challenge, verifier))
  );
}

/** The scopes that are left of those that were granted, or fewer (RFC 6749 §6). */
function scopesOf(left: readonly string[], wanted: string): readonly string[] {
  if (left.length === 0) {
    throw new OAuthError(
      'invalid_grant',
      'The application has none of the scopes left that the user granted.',
    );
  }
  if (wanted === '') return left;
  const scopes = readScopes(wanted);
  if (scopes === null || scopes.length === 0 || !scopes.every((scope) => left.includes(scope))) {
    throw new OAuthError('invalid_scope', 'The scope is unknown, malformed or beyond what the user granted.');
  }
  return scopes;
}

const refused = () =>
  new OAuthError(
    'invalid_grant',
    'The refresh token is unknown, expired, used or revoked, or does not belong to this client, redirect_uri or code_verifier.',
  );
