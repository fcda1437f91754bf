import type { Accounts } from '../../accounts/accounts.ts';
import { activeApplication } from '../../accounts/grants.ts';
import { isScope, type Scope } from '../../accounts/scopes.ts';
import type { Application } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { OAuthError } from './errors.ts';
import { optional, required, requireUnique } from './parameters.ts';
import { readChallenge } from './pkce.ts';
import { isRegistered, isWebAddress } from './redirect-uri.ts';
import { emptyScope, readScopes } from './requested-scopes.ts';
import { readResources } from './resources.ts';

/** The destination of the response. It is validated first: before that, no redirect is allowed (RFC 6749 §4.1.2.1). */
export interface RedirectTarget {
  readonly application: Application;
  readonly redirectUri: string;
  readonly state: string;
  /** `query`: the redirect carries the response. `form_post`: the browser posts it. */
  readonly responseMode: 'query' | 'form_post';
}

/** A valid authorization request. */
export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly Scope[];
  readonly challenge: string;
  /** Copied into the ID token; '' without one. */
  readonly nonce: string;
  /** Resources of the tokens (RFC 8707); empty = the API of this server. */
  readonly resources: readonly string[];
}

/** Errors in the target are shown to the user on an error page, never by a redirect. */
export async function readTarget(accounts: Accounts, form: Form): Promise<RedirectTarget> {
  for (const name of ['client_id', 'redirect_uri']) {
    if (!form.text(name)) throw new HttpError('bad_request', `The authorization request has no ${name}.`);
    if (form.getAll(name).length > 1)
      throw new HttpError('bad_request', `The authorization request has more than one ${name}.`);
  }
  const application = await activeApplication(accounts, form.text('client_id'));
  if (application === null) {
    throw new HttpError(
      'bad_request',
      'The application is not registered, or it was deleted or blocked. If you are its developer, compare client_id with the application ID.',
    );
  }
  const redirectUri = form.text('redirect_uri');
  if (!isRegistered(application.redirect_uris, redirectUri)) {
    throw new HttpError(
      'bad_request',
      'The redirect_uri is not registered for the application. If you are its developer, add it to the redirect URIs of the application, exactly as the application sends it.',
    );
  }
  const isPosted = form.text('response_mode') === 'form_post' && isWebAddress(redirectUri);
  return {
    application,
    redirectUri,
    state: form.text('state'),
    responseMode: isPosted ? 'form_post' : 'query',
  };
}

/** Errors in other parameters are sent to the application. Unknown parameters are ignored. */
export function readRequest(
  accounts: Accounts,
  issuer: () => string,
  form: Form,
  target: RedirectTarget,
): AuthorizationRequest {
  requireUnique(form);
  checkSupported(form);
  const responseType = required(form, 'response_type');
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  }
  checkResponseMode(optional(form, 'response_mode'), target);
  const { application } = target;
  return {
    ...target,
    scopes: scopesOf(application, optional(form, 'scope')),
    challenge: readChallenge(form, application),
    nonce: optional(form, 'nonce'),
    resources: readResources(form, accounts, issuer),
  };
}

/** Refuses parameters that change the request and so must not be ignored (OpenID Connect Core §6 and §7.2.1). */
function checkSupported(form: Form): void {
  for (const name of ['request', 'request_uri'] as const) {
    if (form.text(name) === '') continue;
    throw new OAuthError(
      `${name}_not_supported`,
      `The server does not support ${name}. Send the parameters of the request object one by one.`,
    );
  }
  if (form.text('registration') === '') return;
  throw new OAuthError(
    'registration_not_supported',
    'The server does not support registration. Register the application on the page Applications.',
  );
}

/** The requested scopes; without a scope parameter, all scopes of the application (RFC 6749 §3.3). */
function scopesOf({ scopes: registered }: Application, wanted: string): Scope[] {
  if (wanted === '') return registered.filter(isScope);
  const scopes = readScopes(wanted, registered, 'the scopes of the application');
  if (scopes.length > 0) return scopes;
  throw emptyScope();
}

function checkResponseMode(wanted: string, { responseMode }: RedirectTarget): void {
  if (wanted === '' || wanted === responseMode) return;
  throw new OAuthError(
    'unsupported_response_mode',
    wanted === 'form_post'
      ? 'The response_mode form_post needs a redirect_uri with https or http.'
      : 'The response_mode must be query or form_post.',
  );
}

/** The parameters of a request, for the form that asks for consent. */
export function parametersOf(request: AuthorizationRequest): (readonly [name: string, value: string])[] {
  const { application, redirectUri, state, responseMode, scopes, challenge } = request;
  const parameters: (readonly [string, string])[] = [
    ['client_id', application.id],
    ['redirect_uri', redirectUri],
    ['response_type', 'code'],
    ['response_mode', responseMode],
    ['scope', scopes.join(' ')],
    ['state', state],
    ['nonce', request.nonce],
    ['code_challenge', challenge],
    ['code_challenge_method', challenge === '' ? '' : 'S256'],
    ...request.resources.map((uri) => ['resource', uri] as const),
  ];
  return parameters.filter(([, value]) => value !== '');
}
