import type { FastifyInstance, FastifyReply } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { activeApplication } from '../../accounts/grants.ts';
import { clearSessionCookie, endSession } from '../../accounts/sessions.ts';
import type { Application, User } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { formOf, formTokenValue } from '../../pages/forms.ts';
import { type Html, html } from '../../pages/html.ts';
import { type Page, seeOther } from '../../pages/page.ts';
import { postingPage } from '../../pages/posting-page.ts';
import { SigningKeys } from '../openid/signing-keys.ts';
import { neverStored } from './errors.ts';
import { optional, queryParameters, requireUnique } from './parameters.ts';
import { destinationOf, isRegistered, withParameters } from './redirect-uri.ts';

const PATH = '/oauth/logout';
const CONFIRM = `${PATH}/confirm`;
const PARAMETERS = ['id_token_hint', 'client_id', 'post_logout_redirect_uri', 'state'];

/** A valid request to end the session of the browser. */
interface LogoutRequest {
  /** The application that sent the user. */
  readonly application: Application | null;
  /** '' = the user stays here. */
  readonly redirectUri: string;
  readonly state: string;
  /** The user whom the ID token names. */
  readonly subject: string | null;
}

const NO_REQUEST: LogoutRequest = { application: null, redirectUri: '', state: '', subject: null };

/**
 * OpenID Connect RP-Initiated Logout 1.0. The request itself changes nothing, so a link or an image on another site
 * cannot end a session. Only the form of our page ends it; with an ID token of the signed-in user, a script submits that form.
 */
export function serveLogout(pages: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  pages.get(PATH, async (request, reply) => {
    const signedIn = await request.signedIn();
    try {
      const logout = await readLogout(accounts, issuer, queryParameters(request));
      if (signedIn === null) return await reply.page(signedOutPage(logout));
      if (logout.subject !== signedIn.user.id) {
        return await reply.page(await questionPage(reply, signedIn.user, logout));
      }
      return postingPage(reply, {
        title: 'Signing out',
        text: `${nameOf(logout)} signs you out of Chain Metrics.`,
        action: CONFIRM,
        fields: [
          ['form_token', await formTokenValue(accounts, request, reply)],
          ...Object.entries(fieldsOf(logout)),
        ],
        button: 'Sign out',
      });
    } catch (error) {
      if (!(error instanceof HttpError) || error.status !== 400) throw error;
      const { message: fault } = error;
      if (signedIn === null) return reply.page(signedOutPage(NO_REQUEST, fault));
      return reply.page(await questionPage(reply, signedIn.user, NO_REQUEST, fault));
    }
  });

  pages.post(CONFIRM, async (request, reply) => {
    const logout = await readLogout(accounts, issuer, formOf(request));
    await endSession(accounts, request);
    clearSessionCookie(accounts, reply);
    if (logout.redirectUri === '') return seeOther(reply, '/sign-in', 'You have been signed out.');
    return reply
      .headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
      .redirect(addressOf(logout), 303);
  });
}

/**
 * Redirects a request that an application posts to the same request as a GET. Browsers send no session cookie with a form of
 * another site, but send it if they follow the redirect.
 */
export function serveLogoutForm(app: FastifyInstance): void {
  app.post(PATH, async (request, reply) => {
    const form = formOf(request);
    const query = new URLSearchParams(
      PARAMETERS.flatMap((name) => form.getAll(name).map((value): [string, string] => [name, value])),
    );
    return neverStored(reply).redirect(`${PATH}?${query}`, 303);
  });
}

/** Throws an `HttpError` with status 400 for an invalid request, which must not redirect. */
async function readLogout(accounts: Accounts, issuer: () => string, form: Form): Promise<LogoutRequest> {
  requireUnique(form);
  const hint = optional(form, 'id_token_hint');
  const clientId = optional(form, 'client_id');
  const redirectUri = optional(form, 'post_logout_redirect_uri');
  const state = optional(form, 'state');
  const claims = hint === '' ? null : await new SigningKeys(accounts).verify(hint, issuer());
  if (hint !== '' && claims === null) throw invalid('The id_token_hint is not an ID token of this service.');
  const audience = claims === null ? '' : String(claims.aud);
  if (claims !== null && clientId !== '' && clientId !== audience) {
    throw invalid('The client_id is not the application that the id_token_hint was issued to.');
  }
  const id = clientId || audience;
  const application = id === '' ? null : await activeApplication(accounts, id);
  if (id !== '' && application === null) {
    throw invalid('The application is not registered, or it was deleted or blocked.');
  }
  if (redirectUri !== '') checkRedirectUri(application, redirectUri);
  return { application, redirectUri, state, subject: claims?.sub ?? null };
}

function checkRedirectUri(application: Application | null, redirectUri: string): void {
  if (application === null) {
    throw invalid('A post_logout_redirect_uri requires the client_id or an id_token_hint.');
  }
  if (!isRegistered(application.post_logout_redirect_uris, redirectUri)) {
    throw invalid(
      'The post_logout_redirect_uri is not registered for the application. If you are its developer, add it to the redirect URIs after sign-out, exactly as the application sends it.',
    );
  }
}

const invalid = (message: string) =>
  new HttpError('bad_request', `The application sent an invalid request. ${message}`);

const nameOf = ({ application }: LogoutRequest): string => application?.name ?? 'An application';

const addressOf = ({ redirectUri, state }: LogoutRequest): string =>
  state === '' ? redirectUri : withParameters(redirectUri, { state });

/** The hidden fields that repeat the request. */
const fieldsOf = ({ application, redirectUri, state }: LogoutRequest): Record<string, string> =>
  application === null || redirectUri === ''
    ? {}
    : { client_id: application.id, post_logout_redirect_uri: redirectUri, state };

async function questionPage(
  reply: FastifyReply,
  user: User,
  logout: LogoutRequest,
  fault?: string,
): Promise<Page> {
  const isOther = logout.subject !== null && logout.subject !== user.id;
  const body = html`<h1>Sign out of Chain Metrics?</h1>
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
<p class="lead">${logout.application !== null && html`${nameOf(logout)} asks you to sign out${isOther && ' of another account'}. `}You are signed in as <strong>${user.username}</strong>.</p>
${destination(logout)}
<form method="post" action="${CONFIRM}">${await reply.formToken()}
${Object.entries(fieldsOf(logout)).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
<p class="actions split spaced"><a class="button second" href="/profile">Stay signed in</a>
<button>Sign out</button></p></form>
<p class="hint">Applications keep the access that you gave them. You can revoke it in <a href="/profile/authorized-applications">Authorized applications</a>.</p>`;
  return { title: 'Sign out', body, layout: 'narrow', status: fault === undefined ? 200 : 400 };
}

/** The page for a visitor without a session. It has a link, since a redirect would let anybody send a browser on. */
function signedOutPage(logout: LogoutRequest, fault?: string): Page {
  const body = html`<h1>You are signed out</h1>
${fault && html`<p class="note bad" role="alert">${fault}</p>`}
<p class="lead">You are not signed in to Chain Metrics in this browser.</p>
${destination(logout)}
<p class="actions split spaced">${
    logout.redirectUri === ''
      ? html`<a class="button" href="/sign-in">Sign in</a>`
      : html`<a class="button" href="${addressOf(logout)}" rel="noreferrer">Return to ${nameOf(logout)}</a>`
  }</p>`;
  return { title: 'Signed out', body, layout: 'narrow', status: fault === undefined ? 200 : 400 };
}

const destination = ({ redirectUri }: LogoutRequest): Html | false =>
  redirectUri !== '' &&
  html`<dl class="facts"><dt>Redirects to</dt><dd><strong>${destinationOf(redirectUri)}</strong></dd></dl>`;
