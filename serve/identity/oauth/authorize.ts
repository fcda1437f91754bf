import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from '../../../infra/sql.ts';
import type { Accounts } from '../../accounts/accounts.ts';
import { activeApplication, emptyGrant } from '../../accounts/grants.ts';
import { hashSecret } from '../../accounts/secrets.ts';
import { signInPath } from '../../accounts/sessions.ts';
import type { User } from '../../accounts/tables.ts';
import { makeToken } from '../../accounts/tokens.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { formOf } from '../../pages/forms.ts';
import { seeOther } from '../../pages/page.ts';
import type { AuthorizationRequest, RedirectTarget } from './authorization-request.ts';
import { consentPage } from './consent.ts';
import { missingParameter, OAuthError } from './errors.ts';
import { optional, queryParameters, required, requireUnique } from './parameters.ts';
import { readChallenge } from './pkce.ts';
import { isSilent, neededSignIn, readPrompt, signInFirst } from './prompt.ts';
import { isRegistered, withParameters } from './redirect-uri.ts';
import { readScopes } from './requested-scopes.ts';

/** The authorization endpoint: RFC 6749 §4.1.1 with PKCE and RFC 9207. */
export function serveAuthorize(pages: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  // HEAD must change nothing, and an approval issues a code.
  pages.get('/oauth/authorize', { exposeHeadRoute: false }, async (request, reply) => {
    const form = readQuery(request);
    const destination = await readDestination(accounts, form);
    const signedIn = await request.signedIn();
    const mayRedirect = signedIn !== null || isSilent(form);
    return withErrorRedirect(reply, issuer, destination, mayRedirect ? null : request.url, async () => {
      const authorization = readRequest(form, destination);
      const prompt = readPrompt(form, accounts.clock.now());
      const needed = neededSignIn(prompt, signedIn);
      if (needed === 'login' && prompt.isSilent) {
        throw new OAuthError('login_required', 'The user has to sign in.');
      }
      if (needed !== null || signedIn === null) {
        return seeOther(reply, signInFirst(request.url, prompt, needed ?? 'login'));
      }
      if (!prompt.wantsConsent && (await hasConsented(accounts, signedIn.user, authorization))) {
        return approve(accounts, reply, issuer, signedIn.user, authorization);
      }
      if (prompt.isSilent) throw new OAuthError('consent_required', 'The user has to authorize the request.');
      return reply.page(await consentPage(accounts, reply, signedIn.user, authorization));
    });
  });

  pages.post('/oauth/authorize', async (request, reply) => {
    const form = formOf(request);
    const destination = await readDestination(accounts, form);
    const signedIn = await request.signedIn();
    if (signedIn === null) return seeOther(reply, signInPath(addressOf(form)));
    return withErrorRedirect(reply, issuer, destination, null, async () => {
      const authorization = readRequest(form, destination);
      if (form.text('decision') !== 'allow') {
        throw new OAuthError(
          'access_denied',
          'The resource owner or authorization server denied the request.',
        );
      }
      return approve(accounts, reply, issuer, signedIn.user, authorization);
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

/** Errors in the destination are shown to the user on an error page, never by a redirect. */
async function readDestination(accounts: Accounts, form: Form): Promise<RedirectTarget> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (!form.text(name)) throw new HttpError('bad_request', `The authorization request has no ${name}.`);
    if (form.getAll(name).length > 1)
      throw new HttpError('bad_request', `The authorization request has more than one ${name}.`);
  }
  const application = await activeApplication(accounts, form.text('client_id'));
  if (application === null) {
    throw new HttpError(
      'bad_request',
      'The application is not registered, or it was deleted or stopped. Its developer compares client_id with the application ID.',
    );
  }
  const redirectUri = form.text('redirect_uri');
  if (!isRegistered(application.redirect_uris, redirectUri)) {
    throw new HttpError(
      'bad_request',
      'The redirect_uri is not registered for the application. Its developer adds it to the redirect URIs of the application, exactly as it is sent.',
    );
  }
  return { application, redirectUri, state: form.text('state') };
}

/** Errors in the other parameters are sent to the application. */
function readRequest(form: Form, destination: RedirectTarget): AuthorizationRequest {
  requireUnique(form);
  const responseType = required(form, 'response_type');
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  }
  if (!['', 'query'].includes(optional(form, 'response_mode'))) {
    throw new OAuthError('unsupported_response_mode', 'The response_mode must be query.');
  }
  const { application } = destination;
  const scopes = readScopes(optional(form, 'scope'), application.scopes, 'the application registered');
  if (scopes.length === 0) throw new OAuthError('invalid_scope', missingParameter('scope').message);
  return { ...destination, scopes, challenge: readChallenge(form, application) };
}

/**
 * Sends errors to the application by a redirect (RFC 6749 §4.1.2.1). `signInAt` is the address of a request that needs a
 * session first: without one, anybody could use this server to redirect a browser (RFC 9700 §4.11.2).
 */
async function withErrorRedirect(
  reply: FastifyReply,
  issuer: () => string,
  destination: RedirectTarget,
  signInAt: string | null,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    if (signInAt !== null) return seeOther(reply, signInPath(signInAt));
    return respond(reply, issuer, destination, { error: error.code, error_description: error.message });
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
  user: User,
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
    code_expires_ms: expires,
    expires_ms: expires,
  });
  return respond(reply, issuer, authorization, { code: code.text });
}

/** 303 keeps browsers from repeating the POST at the application (RFC 9700 §4.12); `iss` prevents mix-up (RFC 9207). */
function respond(
  reply: FastifyReply,
  issuer: () => string,
  { redirectUri, state }: RedirectTarget,
  answer: Readonly<Record<string, string>>,
): FastifyReply {
  const parameters = { ...answer, ...(state === '' ? {} : { state }), iss: issuer() };
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(withParameters(redirectUri, parameters), 303);
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
