import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sql } from '../../../infra/clickhouse/sql.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { formOf } from '../../http/pages/forms.ts';
import { seeOther, sendPage } from '../../http/pages/page.ts';
import type { Accounts } from '../accounts/accounts.ts';
import { emptyGrant } from '../accounts/grants.ts';
import { readScopes, type Scope } from '../accounts/scopes.ts';
import { hashSecret } from '../accounts/secrets.ts';
import { sessionOf } from '../accounts/sessions.ts';
import type { Application, User } from '../accounts/tables.ts';
import { makeToken } from '../accounts/tokens.ts';
import { liveApplication } from './client.ts';
import { consentPage } from './consent.ts';
import { missingParameter, OAuthError } from './errors.ts';
import { once, optional, queryParameters, required } from './parameters.ts';
import { readChallenge } from './pkce.ts';
import { isRegistered, withParameters } from './redirect-uri.ts';

/** Where the answer goes. Known before anything else: until then nothing may be sent anywhere (RFC 6749 §4.1.2.1). */
interface Destination {
  readonly application: Application;
  readonly redirectUri: string;
  readonly state: string;
}

/** A request that is right in everything but the user's consent. */
export interface AuthorizationRequest extends Destination {
  readonly scopes: readonly Scope[];
  readonly challenge: string;
}

/** RFC 6749 §4.1.1 with PKCE and RFC 9207: the authorization endpoint, its consent page and its answer. */
export function serveAuthorize(pages: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  pages.get('/oauth/authorize', async (request, reply) => {
    const form = readQuery(request);
    const destination = await readDestination(accounts, form);
    return answering(reply, issuer, destination, async () => {
      const asked = readRequest(form, destination);
      const signedIn = await sessionOf(accounts, request);
      if (signedIn === null) return seeOther(reply, `/sign-in?next=${encodeURIComponent(request.url)}`);
      if (await hasAgreed(accounts, signedIn.user, asked)) {
        return approve(accounts, reply, issuer, signedIn.user, asked);
      }
      return sendPage(
        accounts,
        request,
        reply,
        await consentPage(accounts, request, reply, signedIn.user, asked),
      );
    });
  });

  pages.post('/oauth/authorize', async (request, reply) => {
    const form = formOf(request);
    const destination = await readDestination(accounts, form);
    return answering(reply, issuer, destination, async () => {
      const asked = readRequest(form, destination);
      const signedIn = await sessionOf(accounts, request);
      if (signedIn === null) throw new OAuthError('access_denied', 'The user is not signed in any more.');
      if (form.text('decision') !== 'allow') {
        throw new OAuthError(
          'access_denied',
          'The resource owner or authorization server denied the request.',
        );
      }
      return approve(accounts, reply, issuer, signedIn.user, asked);
    });
  });
}

function readQuery(request: FastifyRequest): Form {
  try {
    return queryParameters(request);
  } catch (error) {
    throw new HttpError('bad_request', `This link cannot be read: ${(error as Error).message}`);
  }
}

/** What is wrong before the destination is known is told to the person, on a page of ours: never a redirect. */
async function readDestination(accounts: Accounts, form: Form): Promise<Destination> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (!form.text(name))
      throw new HttpError('bad_request', `The application sent you here without its ${name}.`);
    if (form.getAll(name).length > 1)
      throw new HttpError('bad_request', `The application sent its ${name} more than once.`);
  }
  const application = await liveApplication(accounts, form.text('client_id'));
  if (application === null) {
    throw new HttpError(
      'bad_request',
      'The application that sent you here is not registered, or not any more.',
    );
  }
  const redirectUri = form.text('redirect_uri');
  if (!isRegistered(application.redirect_uris, redirectUri)) {
    throw new HttpError(
      'bad_request',
      'The application wants the answer at an address (redirect_uri) that is not registered for it.',
    );
  }
  return { application, redirectUri, state: form.text('state') };
}

/** The rest is told to the application. */
function readRequest(form: Form, destination: Destination): AuthorizationRequest {
  once(form);
  const responseType = required(form, 'response_type');
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  }
  if (!['', 'query'].includes(optional(form, 'response_mode'))) {
    throw new OAuthError('unsupported_response_mode', 'The response_mode must be query.');
  }
  const scopes = readScopes(optional(form, 'scope'));
  if (scopes === null || !scopes.every((scope) => destination.application.scopes.includes(scope))) {
    throw new OAuthError(
      'invalid_scope',
      'The scope is unknown, malformed or beyond what the application registered.',
    );
  }
  if (scopes.length === 0) throw new OAuthError('invalid_scope', missingParameter('scope').message);
  return { ...destination, scopes, challenge: readChallenge(form, destination.application) };
}

/** Sends what goes wrong to the application (RFC 6749 §4.1.2.1). */
async function answering(
  reply: FastifyReply,
  issuer: () => string,
  destination: Destination,
  work: () => Promise<FastifyReply>,
): Promise<FastifyReply> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    return respond(reply, issuer, destination, { error: error.code, error_description: error.message });
  }
}

async function approve(
  accounts: Accounts,
  reply: FastifyReply,
  issuer: () => string,
  user: User,
  asked: AuthorizationRequest,
): Promise<FastifyReply> {
  const now = accounts.clock.now();
  const of = { user_id: user.id, application_id: asked.application.id, scopes: asked.scopes, now };
  const grant = emptyGrant('code', of);
  const code = makeToken('code', grant.id);
  const expires = now + accounts.settings.OAUTH_CODE_SECONDS * 1000;
  await accounts.grants.add({
    ...grant,
    redirect_uri: asked.redirectUri,
    code_hash: hashSecret(code.secret),
    code_challenge: asked.challenge,
    code_expires_ms: expires,
    expires_ms: expires,
  });
  return respond(reply, issuer, asked, { code: code.text });
}

/** 303, so that no browser repeats the form at the application (RFC 9700 §4.12); `iss` against mix-up (RFC 9207). */
function respond(
  reply: FastifyReply,
  issuer: () => string,
  { redirectUri, state }: Destination,
  answer: Readonly<Record<string, string>>,
): FastifyReply {
  const parameters = { ...answer, ...(state === '' ? {} : { state }), iss: issuer() };
  return reply
    .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    .redirect(withParameters(redirectUri, parameters), 303);
}

/** Whether the user agreed to all of it before, and still does. Who keeps no secret could be anybody: ask again. */
async function hasAgreed(
  accounts: Accounts,
  user: User,
  { application, scopes }: AuthorizationRequest,
): Promise<boolean> {
  if (!application.is_confidential) return false;
  const live = await accounts.grants.find(
    sql`user_id = ${user.id} AND application_id = ${application.id} AND kind = 'code'
      AND revoked_ms = 0 AND code_used_ms > 0 AND refresh_expires_ms > ${accounts.clock.now()}`,
    'id',
    100,
  );
  return live.some((grant) => scopes.every((scope) => grant.scopes.includes(scope)));
}
