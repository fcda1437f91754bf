import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { bearer, type Principal, principalOf, requireScope, TokenError } from '../../accounts/principal.ts';
import { SCOPE_NAMES } from '../../accounts/scopes.ts';
import { Form } from '../../http/form.ts';
import { claimsOf } from '../openid/claims.ts';
import { neverStored } from './errors.ts';
import { bodyParameters, optional } from './parameters.ts';

/** OpenID Connect Core §5.3: claims about the user of a token; requires the scope `openid`. */
export function serveUserinfo(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  for (const method of ['GET', 'POST'] as const) {
    app.route({ method, url: '/oauth/userinfo', handler });
  }

  async function handler(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const caller = await tokenHolder(accounts, request);
    requireScope(caller, 'openid');
    const { user, scopes } = caller;
    return neverStored(reply).send(claimsOf(user, scopes === 'all' ? SCOPE_NAMES : scopes, issuer()));
  }
}

/** The user of a token; requires the scope `api` or `read_user`. */
export function serveUser(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  app.get('/api/v4/user', async (request, reply) => {
    const caller = await principalOf(accounts, request);
    requireScope(caller, 'api', 'read_user');
    const { user } = caller;
    return neverStored(reply).send({
      id: Number(user.id),
      username: user.username,
      name: user.name,
      state: 'active',
      locked: false,
      avatar_url: null,
      web_url: `${issuer()}/profile`,
      created_at: isoTime(user.created_ms),
      // Applications trust this address, so it must be confirmed.
      email: user.email_confirmed_ms > 0 ? user.email : null,
      confirmed_at: isoTime(user.email_confirmed_ms),
      public_email: null,
      last_sign_in_at: isoTime(user.last_sign_in_ms),
      current_sign_in_at: isoTime(user.current_sign_in_ms),
      two_factor_enabled: user.totp_secret !== '',
      is_admin: user.is_operator,
      bot: false,
    });
  });
}

/** The caller, by a token in the header or in the form field `access_token` (RFC 6750 §2.2). */
async function tokenHolder(accounts: Accounts, request: FastifyRequest): Promise<Principal> {
  const given = request.body instanceof Form ? optional(bodyParameters(request), 'access_token') : '';
  if (given !== '') {
    if (request.headers.authorization !== undefined) {
      throw new TokenError('invalid_request', 'Send the token once: in the header or in the form.');
    }
    const found = await bearer(accounts, given, request, 'any');
    if (typeof found === 'string') throw new TokenError('invalid_token', 'The access token is invalid');
    return found;
  }
  const caller = await principalOf(accounts, request, 'any');
  // A page of another origin must not learn who is signed in.
  if (caller.by === 'session')
    throw new TokenError('unauthorized', 'Send a token as `Authorization: Bearer TOKEN`.');
  return caller;
}

const isoTime = (ms: number) => (ms === 0 ? null : new Date(ms).toISOString());
