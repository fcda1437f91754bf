import type { FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { emptyGrant } from '../../accounts/grants.ts';
import { DEFAULT_SCOPE, SCOPE_NAMES } from '../../accounts/scopes.ts';
import type { Application } from '../../accounts/tables.ts';
import { userByPassword } from '../../accounts/users.ts';
import { addressKey } from '../../http/client-address.ts';
import type { Form } from '../../http/form.ts';
import { optionalClient } from './client.ts';
import { OAuthError } from './errors.ts';
import { type TokenResponse, withAccess } from './issue.ts';
import { optional, required } from './parameters.ts';
import { emptyScope, readScopes } from './requested-scopes.ts';
import { readResources } from './resources.ts';

/**
 * RFC 6749 §4.3, for first-party programs. The response has no refresh_token, id_token or created_at. Users with
 * two-factor authentication use a personal access token instead.
 */
export async function passwordGrant(
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
  issuer: () => string,
): Promise<TokenResponse> {
  const application = await optionalClient(accounts, request, form);
  if (application === null && !accounts.settings.OAUTH_PASSWORD_WITHOUT_CLIENT) {
    throw new OAuthError(
      'invalid_client',
      'Client authentication failed: this server requires a registered application. Send its client_id.',
    );
  }
  const username = required(form, 'username');
  const password = required(form, 'password');
  const scopes = scopesOf(application, optional(form, 'scope'));
  const resources = readResources(form, accounts, issuer);
  // Read the clock before the check, so that a password change during the check revokes the grant.
  const now = accounts.clock.now();
  const user = await userOf(accounts, request, username, password);
  if (user === null) {
    throw new OAuthError(
      'invalid_grant',
      'The user name or password is wrong, or the account uses two-factor authentication and needs a personal access token.',
    );
  }
  const application_id = application?.id ?? '';
  const empty = emptyGrant('password', { user_id: user.id, application_id, scopes, now });
  const { grant, response } = withAccess(
    accounts,
    { ...empty, resources, access_resources: resources },
    scopes,
    now,
  );
  await accounts.grants.add(grant);
  return response;
}

/** A missing second factor counts as a failure. Otherwise the remaining attempts would reveal a correct password. */
async function userOf(accounts: Accounts, request: FastifyRequest, login: string, password: string) {
  const caller = { address: addressKey(request), device: null };
  const user = await accounts.attempts.run({ what: 'password', account: login, ...caller }, async () => {
    const found = await userByPassword(accounts, login, password);
    return found?.totp_secret === '' ? found : null;
  });
  if (user !== null) await accounts.attempts.remember(user, caller.address);
  return user;
}

function scopesOf(application: Application | null, wanted: string): readonly string[] {
  const allowed = application?.scopes ?? SCOPE_NAMES;
  const scopes = readScopes(
    wanted === '' ? DEFAULT_SCOPE : wanted,
    allowed,
    'the scopes that the application may request',
  );
  if (scopes.length === 0) throw emptyScope();
  return scopes;
}
