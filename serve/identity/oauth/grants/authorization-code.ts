import type { FastifyRequest } from 'fastify';
import type { Form } from '../../../http/form.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { liveUser } from '../../accounts/bearer.ts';
import { revoked } from '../../accounts/grants.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Application, Grant } from '../../accounts/tables.ts';
import { readToken } from '../../accounts/tokens.ts';
import { authenticateClient } from '../client.ts';
import { OAuthError } from '../errors.ts';
import { type TokenResponse, withPair } from '../issue.ts';
import { optional, required } from '../parameters.ts';
import { checkVerifierForm, isProven } from '../pkce.ts';

/** RFC 6749 §4.1.3 with PKCE (RFC 7636 §4.5): a code becomes a pair of tokens, once. */
export async function exchangeCode(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
): Promise<TokenResponse> {
  const application = await authenticateClient(accounts, request, form);
  const code = required(form, 'code');
  const redirectUri = required(form, 'redirect_uri');
  const verifier = optional(form, 'code_verifier');
  if (!application.is_confidential) required(form, 'code_verifier');
  checkVerifierForm(verifier);
  const token = readToken(code);
  if (token?.kind !== 'code') throw refused();

  const response = await accounts.grants.change(token.id, async (grant) => {
    const isTheirs =
      grant !== null &&
      isSecretOf(grant.code_hash, token.secret) &&
      isFor(grant, application, redirectUri, verifier);
    // A request that is wrong in any way leaves the code as it is, for whoever it belongs to.
    if (!isTheirs || grant.revoked_ms > 0) throw refused();
    const now = accounts.clock.now();
    // Only somebody who can prove everything can end what a used code gave: a thief without the verifier cannot.
    if (grant.code_used_ms > 0) return { next: revoked(grant, now), result: null };
    if (grant.code_expires_ms <= now) throw refused();
    if (typeof (await liveUser(accounts, grant)) === 'string') throw refused();
    const pair = withPair(accounts, { ...grant, code_used_ms: now }, grant.scopes, now);
    return { next: pair.grant, result: pair.response };
  });
  if (response === null) throw refused();
  return response;
}

function isFor(grant: Grant, application: Application, redirectUri: string, verifier: string): boolean {
  if (grant.application_id !== application.id || grant.redirect_uri !== redirectUri) return false;
  // Neither may stand alone: a challenge must be proven, and a verifier must have one to prove.
  return grant.code_challenge === '' ? verifier === '' : isProven(grant.code_challenge, verifier);
}

/** One text for all: which part was wrong is nobody's business. */
const refused = () =>
  new OAuthError(
    'invalid_grant',
    'The authorization code is unknown, expired or used, or does not belong to this client, redirect_uri or code_verifier.',
  );
