import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { emptyGrant } from '../../accounts/grants.ts';
import { hashSecret } from '../../accounts/secrets.ts';
import { type SignedIn, signInPath } from '../../accounts/sessions.ts';
import type { User } from '../../accounts/tables.ts';
import { makeToken } from '../../accounts/tokens.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { formOf } from '../../pages/forms.ts';
import { seeOther } from '../../pages/page.ts';
import { type AuthorizationRequest, readRequest, readTarget } from './authorization-request.ts';
import { respond, withErrorResponse } from './authorization-response.ts';
import { consentPage } from './consent.ts';
import { OAuthError } from './errors.ts';
import { queryParameters } from './parameters.ts';
import { isSilent, neededSignIn, readPrompt, signInFirst } from './prompt.ts';

/** The authorization endpoint: RFC 6749 §4.1.1 with PKCE and RFC 9207. */
export function serveAuthorize(pages: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  // HEAD must change nothing, and an approval issues a code.
  pages.get('/oauth/authorize', { exposeHeadRoute: false }, async (request, reply) => {
    const form = readQuery(request);
    const target = await readTarget(accounts, form);
    const signedIn = await request.signedIn();
    const mayRedirect = signedIn !== null || isSilent(form);
    return withErrorResponse(reply, issuer, target, mayRedirect ? null : request.url, async () => {
      const authorization = readRequest(form, target);
      const prompt = readPrompt(form, accounts.clock.now());
      const needed = neededSignIn(prompt, signedIn);
      if (needed === 'login' && prompt.isSilent) {
        throw new OAuthError('login_required', 'The user has to sign in.');
      }
      if (needed !== null || signedIn === null) {
        return seeOther(reply, signInFirst(request.url, prompt, needed ?? 'login'));
      }
      if (!prompt.wantsConsent && (await hasConsented(accounts, signedIn.user, authorization))) {
        return approve(accounts, reply, issuer, signedIn, authorization);
      }
      if (prompt.isSilent) throw new OAuthError('consent_required', 'The user has to authorize the request.');
      return reply.page(await consentPage(accounts, reply, signedIn.user, authorization));
    });
  });

  pages.post('/oauth/authorize', async (request, reply) => {
    const form = formOf(request);
    const target = await readTarget(accounts, form);
    const signedIn = await request.signedIn();
    if (signedIn === null) return seeOther(reply, signInPath(addressOf(form)));
    return withErrorResponse(reply, issuer, target, null, async () => {
      const authorization = readRequest(form, target);
      if (form.text('decision') !== 'allow') {
        throw new OAuthError(
          'access_denied',
          'The resource owner or authorization server denied the request.',
        );
      }
      return approve(accounts, reply, issuer, signedIn, authorization);
    });
  });
}

function readQuery(request: FastifyRequest): Form {
  try {
    return queryParameters(request);
  } catch (error) {
    throw new HttpError('bad_request', `The authorization request is invalid: ${(error as Error).message}`);
  }
}

/** The request that an authorization page was made for. */
function addressOf(form: Form): string {
  const parameters = new URLSearchParams(form);
  for (const name of ['form_token', 'decision']) parameters.delete(name);
  return `/oauth/authorize?${parameters}`;
}

async function approve(
  accounts: Accounts,
  reply: FastifyReply,
  issuer: () => string,
  { user, session }: SignedIn,
  authorization: AuthorizationRequest,
): Promise<FastifyReply> {
  const now = accounts.clock.now();
  const of = {
    user_id: user.id,
    application_id: authorization.application.id,
    scopes: authorization.scopes,
    now,
  };
  const grant = emptyGrant('code', of);
  const code = makeToken('code', grant.id);
  const expires = now + accounts.settings.OAUTH_CODE_SECONDS * 1000;
  await accounts.grants.add({
    ...grant,
    redirect_uri: authorization.redirectUri,
    code_hash: hashSecret(code.secret),
    code_challenge: authorization.challenge,
    nonce: authorization.nonce,
    signed_in_ms: session.created_ms,
    amr: session.amr,
    code_expires_ms: expires,
    expires_ms: expires,
  });
  return respond(reply, issuer, authorization, { code: code.text });
}

/**
 * Whether the user has an active grant with all requested scopes. A public application is never approved like this,
 * since it cannot be authenticated.
 */
async function hasConsented(
  accounts: Accounts,
  user: User,
  { application, scopes }: AuthorizationRequest,
): Promise<boolean> {
  if (!application.is_confidential) return false;
  const active = await accounts.grants.find(
    sql`user_id = ${user.id} AND application_id = ${application.id} AND kind = 'code'
      AND revoked_ms = 0 AND code_used_ms > 0 AND refresh_expires_ms > ${accounts.clock.now()}`,
    'id',
    100,
  );
  return active.some((grant) => scopes.every((scope) => grant.scopes.includes(scope)));
}
