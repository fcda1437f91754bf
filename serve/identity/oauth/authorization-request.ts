import type { Accounts } from '../../accounts/accounts.ts';
import { activeApplication } from '../../accounts/grants.ts';
import type { Scope } from '../../accounts/scopes.ts';
import type { Application } from '../../accounts/tables.ts';
import { HttpError } from '../../http/errors.ts';
import type { Form } from '../../http/form.ts';
import { missingParameter, OAuthError } from './errors.ts';
import { optional, required, requireUnique } from './parameters.ts';
import { readChallenge } from './pkce.ts';
import { isRegistered, isWebAddress } from './redirect-uri.ts';
import { readScopes } from './requested-scopes.ts';

/** Where the response goes. It is validated first: before that, no redirect is allowed (RFC 6749 §4.1.2.1). */
export interface RedirectTarget {
  readonly application: Application;
  readonly redirectUri: string;
  readonly state: string;
  /** `form_post`: the browser posts the response, instead of a query in the redirect. */
  readonly responseMode: 'query' | 'form_post';
}

/** A valid request that needs the user's consent. */
export interface AuthorizationRequest extends RedirectTarget {
  readonly scopes: readonly Scope[];
  readonly challenge: string;
  /** Repeated verbatim in the ID token; '' without one. */
  readonly nonce: string;
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
  const isPosted = form.text('response_mode') === 'form_post' && isWebAddress(redirectUri);
  return {
    application,
    redirectUri,
    state: form.text('state'),
    responseMode: isPosted ? 'form_post' : 'query',
  };
}

/** Errors in the other parameters are sent to the application. */
export function readRequest(form: Form, target: RedirectTarget): AuthorizationRequest {
  requireUnique(form);
  const responseType = required(form, 'response_type');
  if (responseType !== 'code') {
    throw new OAuthError('unsupported_response_type', 'The response_type must be code.');
  }
  checkResponseMode(optional(form, 'response_mode'), target);
  const { application } = target;
  const scopes = readScopes(optional(form, 'scope'), application.scopes, 'the application registered');
  if (scopes.length === 0) throw new OAuthError('invalid_scope', missingParameter('scope').message);
  return { ...target, scopes, challenge: readChallenge(form, application), nonce: optional(form, 'nonce') };
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
  const { application, redirectUri, state, responseMode, scopes, challenge, nonce } = request;
  const parameters: (readonly [string, string])[] = [
    ['client_id', application.id],
    ['redirect_uri', redirectUri],
    ['response_type', 'code'],
    ['response_mode', responseMode],
    ['scope', scopes.join(' ')],
    ['state', state],
    ['nonce', nonce],
    ['code_challenge', challenge],
    ['code_challenge_method', challenge === '' ? '' : 'S256'],
  ];
  return parameters.filter(([, value]) => value !== '');
}
