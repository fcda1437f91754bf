import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { emptyGrant } from '../../accounts/grants.ts';
import { apiResource } from '../../accounts/resource.ts';
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
import { INVALID_HINT, readHint } from './id-token-hint.ts';
import { queryParameters } from './parameters.ts';
import { isSilent, readPrompt, requiredSignIn, signInUrl } from './prompt.ts';

/** The authorization endpoint: RFC 6749 §4.1.1 with PKCE and RFC 9207, and OpenID Connect Core §3.1.2. */
export function serveAuthorize(pages: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  // No HEAD: the request may issue a code.
  pages.get('/oauth/authorize', { exposeHeadRoute: false }, async (request, reply) => {
    const form = readQuery(request);
    const target = await readTarget(accounts, form);
    const signedIn = await request.signedIn();
    const mayRedirect = signedIn !== null || isSilent(form);
    return withErrorResponse(reply, issuer, target, mayRedirect ? null : request.url, async () => {
      const authorization = readRequest(accounts, issuer, form, target);
      const now = accounts.clock.now();
      const prompt = readPrompt(form, now);
      const hint = await readHint(accounts, issuer, form, target.application);
      // Without `prompt=none` an invalid hint is ignored: a hint that a retired key signed must not lock the user out.
      if (hint === INVALID_HINT && prompt.isSilent) {
        throw new OAuthError(
          'login_required',
          'The id_token_hint is not a valid ID token of this application. Repeat the request without prompt=none.',
        );
      }
      const hintedUserId = hint === INVALID_HINT ? null : hint;
      const required = requiredSignIn(prompt, signedIn, hintedUserId);
      if (required === 'login' && prompt.isSilent) {
        throw new OAuthError(
          'login_required',
          'The user is not signed in as requested. Repeat the request without prompt=none.',
        );
      }
      if (required !== null || signedIn === null) {
        return seeOther(reply, signInUrl(request.url, prompt, required ?? 'login', hintedUserId, now));
      }
      if (!prompt.wantsConsent && (await hasConsented(accounts, issuer, signedIn.user, authorization))) {
        return approve(accounts, reply, issuer, signedIn, authorization);
      }
      if (prompt.isSilent) {
        throw new OAuthError(
          'consent_required',
          'The user has not authorized this request yet. Repeat the request without prompt=none.',
        );
      }
      return reply.page(await consentPage(accounts, reply, signedIn.user, authorization));
    });
  });

  // An application may post its request without a form token (OpenID Connect Core §3.1.2.1). Redirect it to GET before the
  // preHandler checks the token. Only the consent form has the field `decision`.
  const preValidation = async (request: FastifyRequest, reply: FastifyReply) => {
    const form = formOf(request);
    if (!form.has('decision')) return seeOther(reply, addressOf(form));
  };
  pages.post('/oauth/authorize', { preValidation }, async (request, reply) => {
    const form = formOf(request);
    const target = await readTarget(accounts, form);
    const signedIn = await request.signedIn();
    if (signedIn === null) return seeOther(reply, signInPath(addressOf(form)));
    return withErrorResponse(reply, issuer, target, null, async () => {
      const authorization = readRequest(accounts, issuer, form, target);
      if (form.text('decision') !== 'allow') {
        throw new OAuthError('access_denied', 'The user denied the request.');
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

const ADDRESS_CHARACTERS_MAX = 8192;

/**
 * The address that repeats a posted request as a GET. Browsers send the session cookie (SameSite=Lax) with a GET that comes
 * from another site, but not with a POST.
 */
function addressOf(form: Form): string {
  const parameters = new URLSearchParams(form);
  for (const name of ['form_token', 'decision']) parameters.delete(name);
  const address = `/oauth/authorize?${parameters}`;
  // Browsers and proxies refuse longer addresses, with errors that do not name the reason.
  if (address.length > ADDRESS_CHARACTERS_MAX)
    throw new HttpError(
      'bad_request',
      `The authorization request is longer than ${ADDRESS_CHARACTERS_MAX} characters. Shorten its parameters, such as state.`,
    );
  return address;
}

async function approve(
  accounts: Accounts,
  reply: FastifyReply,
  issuer: () => string,
  { user, session }: SignedIn,
  authorization: AuthorizationRequest,
): Promise<FastifyReply> {
  const now = accounts.clock.now();
  const grant = emptyGrant('code', {
    user_id: user.id,
    application_id: authorization.application.id,
    scopes: authorization.scopes,
    now,
  });
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
    resources: authorization.resources,
    code_expires_ms: expires,
    expires_ms: expires,
  });
  return respond(reply, issuer, authorization, { code: code.text });
}

/** Whether the user has an active grant with all requested scopes and resources. Public applications always need consent. */
async function hasConsented(
  accounts: Accounts,
  issuer: () => string,
  user: User,
  { application, scopes, resources }: AuthorizationRequest,
): Promise<boolean> {
  if (!application.is_confidential) return false;
  const active = await accounts.grants.find(
    sql`user_id = ${user.id} AND application_id = ${application.id} AND kind = 'code'
      AND revoked_ms = 0 AND code_used_ms > 0 AND refresh_expires_ms > ${accounts.clock.now()}`,
    'id',
    100,
  );
  const wanted = resourcesOf(resources, issuer);
  return active.some((grant) => {
    const granted = resourcesOf(grant.resources, issuer);
    return (
      scopes.every((scope) => grant.scopes.includes(scope)) && wanted.every((uri) => granted.includes(uri))
    );
  });
}

/** An authorization without resources is for the API of this server. */
const resourcesOf = (resources: readonly string[], issuer: () => string): readonly string[] =>
  resources.length === 0 ? [apiResource(issuer())] : resources;
