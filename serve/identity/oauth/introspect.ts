import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { liveUser } from '../accounts/bearer.ts';
import { isSecretOf } from '../accounts/secrets.ts';
import type { Grant } from '../accounts/tables.ts';
import { readToken, SECRET_LENGTH, type Token } from '../accounts/tokens.ts';
import { authenticateClient } from './client.ts';
import { neverStored, OAuthError } from './errors.ts';
import { bodyParameters, required } from './parameters.ts';

/**
 * RFC 7662: an application with a secret asks about a token that was given to it. Everything else, other
 * applications' tokens included, is `{active: false}` and nothing more.
 */
export function serveIntrospect(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  app.post('/oauth/introspect', async (request, reply) => {
    const form = bodyParameters(request);
    const application = await authenticateClient(accounts, request, form);
    // Whoever needs no secret to ask could try tokens out.
    if (!application.is_confidential) {
      throw new OAuthError('invalid_client', 'Only applications with a secret may introspect tokens.');
    }
    const token = readToken(required(form, 'token'));
    const grant = token && (await accounts.grants.get(token.id));
    const now = accounts.clock.now();
    const expires = token && grant && liveUntil(grant, token, now);
    const isTheirs = grant?.application_id === application.id;
    const user = isTheirs && expires ? await liveUser(accounts, grant) : 'revoked';
    if (!grant || !expires || typeof user === 'string') return neverStored(reply).send({ active: false });
    return neverStored(reply).send({
      active: true,
      scope: (token.kind === 'refresh' ? grant.scopes : grant.access_scopes).join(' '),
      client_id: grant.application_id,
      username: user.username,
      sub: user.id,
      iss: issuer(),
      ...(token.kind === 'refresh' ? {} : { token_type: 'bearer' }),
      iat: Math.floor((token.kind === 'refresh' ? grant.refreshed_ms : grant.access_created_ms) / 1000),
      exp: Math.floor(expires / 1000),
    });
  });
}

/** When the token ends, in milliseconds; null when it is not the newest of its grant, or over. */
function liveUntil(grant: Grant, { kind, secret }: Token, now: number): number | null {
  if (grant.revoked_ms > 0) return null;
  if (kind === 'access' && isSecretOf(grant.access_hash, secret)) return after(grant.access_expires_ms, now);
  const isNewest =
    kind === 'refresh' &&
    isSecretOf(grant.family_hash, secret.slice(0, SECRET_LENGTH)) &&
    isSecretOf(grant.refresh_hash, secret.slice(SECRET_LENGTH));
  return isNewest ? after(grant.refresh_expires_ms, now) : null;
}

const after = (time: number, now: number) => (time > now ? time : null);
