import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { holderOf, remainingScopes, revoked } from '../../accounts/grants.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Application, Grant } from '../../accounts/tables.ts';
import { readToken } from '../../accounts/tokens.ts';
import type { Form } from '../../http/form.ts';
import { signIdToken } from '../openid/id-token.ts';
import { authenticateClient } from './client.ts';
import { OAuthError } from './errors.ts';
import { type TokenResponse, withPair } from './issue.ts';
import { optional, required } from './parameters.ts';
import { checkVerifierSyntax, isProven } from './pkce.ts';
import { readAudience } from './resources.ts';

/** RFC 6749 §4.1.3 with PKCE (RFC 7636 §4.5): exchanges a code for a pair of tokens, once. */
export async function exchangeCode(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
  issuer: () => string,
): Promise<TokenResponse> {
  const application = await authenticateClient(accounts, request, form);
  const code = required(form, 'code');
  const redirectUri = required(form, 'redirect_uri');
  const verifier = optional(form, 'code_verifier');
  if (!application.is_confidential) required(form, 'code_verifier');
  checkVerifierSyntax(verifier);
  const token = readToken(code);
  if (token?.kind !== 'code') throw refused();

  const response = await accounts.grants.change(token.id, async (grant) => {
    const isOwn =
      grant !== null && isSecretOf(grant.code_hash, token.secret) && isFor(grant, application, redirectUri);
    // A request with a wrong secret, client, redirect_uri or verifier leaves the code valid for its owner.
    if (!isOwn || grant.revoked_ms > 0) throw refused();
    // Required with its own error: a confidential client may not know that its authorization request had a challenge.
    if (grant.code_challenge !== '') required(form, 'code_verifier');
    if (!isVerified(grant.code_challenge, verifier)) throw refused();
    const now = accounts.clock.now();
    // A second use of the code, even an expired one, revokes its tokens. An attacker without the verifier cannot cause that:
    // requests with a wrong parameter were refused above.
    if (grant.code_used_ms > 0) return { next: revoked(grant, now), result: null };
    if (grant.code_expires_ms <= now) throw refused();
    const holder = await holderOf(accounts, grant);
    if (typeof holder === 'string') throw refused();
    const scopes = remainingScopes(grant.scopes, holder.application);
    if (scopes.length === 0) throw refused();
    const access_resources = readAudience(form, accounts, issuer, grant.resources);
    const pair = withPair(accounts, { ...grant, access_resources, code_used_ms: now }, scopes, now);
    // Sign before the grant is written, so that the code stays unused if signing fails.
    const id_token = await signIdToken(accounts, {
      grant,
      user: holder.user,
      application,
      scopes,
      accessToken: pair.response.access_token,
      issuer: issuer(),
      isRefresh: false,
    });
    return { next: pair.grant, result: { ...pair.response, id_token } };
  });
  if (response === null) throw refused();
  return response;
}

const isFor = (grant: Grant, application: Application, redirectUri: string): boolean =>
  grant.application_id === application.id && grant.redirect_uri === redirectUri;

/** A challenge requires a verifier, and a verifier requires a challenge. */
const isVerified = (challenge: string, verifier: string): boolean =>
  challenge === '' ? verifier === '' : isProven(challenge, verifier);

/** The same message for all reasons, so that it reveals nothing. */
const refused = () =>
  new OAuthError(
    'invalid_grant',
    'The authorization code is unknown, expired or used, or does not belong to this client, redirect_uri or code_verifier.',
  );
