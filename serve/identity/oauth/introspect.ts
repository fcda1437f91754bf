import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { holderOf, remainingScopes } from '../../accounts/grants.ts';
import { isSecretOf } from '../../accounts/secrets.ts';
import type { Grant } from '../../accounts/tables.ts';
import { readToken, refreshParts, type Token } from '../../accounts/tokens.ts';
import { authenticateClient, refusedClient } from './client.ts';
import { neverStored } from './errors.ts';
import { bodyParameters, required } from './parameters.ts';

/**
 * RFC 7662: a confidential application asks about a token of its own, or about an access token for an API of another
 * server. Such an API has to compare `aud` with its own URI. The response to any other token is `{active: false}`.
 */
export function serveIntrospect(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  app.post('/oauth/introspect', async (request, reply) => {
    const form = bodyParameters(request);
    const application = await authenticateClient(accounts, request, form);
    // Without authentication anybody could probe tokens.
    if (!application.is_confidential) {
      throw refusedClient(request, 'Only applications with a secret may introspect tokens.');
    }
    const token = readToken(required(form, 'token'));
    const grant = token && (await accounts.grants.get(token.id));
    const now = accounts.clock.now();
    const expires = token && grant && activeUntil(grant, token, now);
    const mayAsk =
      grant?.application_id === application.id ||
      (token?.kind === 'access' && isForOtherServer(accounts, grant));
    const holder = mayAsk && grant && expires ? await holderOf(accounts, grant) : 'revoked';
    if (!grant || !expires || typeof holder === 'string') return neverStored(reply).send({ active: false });
    const aud = token.kind === 'refresh' ? grant.resources : grant.access_resources;
    return neverStored(reply).send({
      active: true,
      scope: remainingScopes(
        token.kind === 'refresh' ? grant.scopes : grant.access_scopes,
        holder.application,
      ).join(' '),
      ...(grant.application_id === '' ? {} : { client_id: grant.application_id }),
      username: holder.user.username,
      sub: holder.user.id,
      iss: issuer(),
      ...(aud.length === 0 ? {} : { aud }),
      ...(token.kind === 'refresh' ? {} : { token_type: 'bearer' }),
      iat: Math.floor((token.kind === 'refresh' ? grant.refreshed_ms : grant.access_created_ms) / 1000),
      exp: Math.floor(expires / 1000),
    });
  });
}

/** The other server received the token, but has no credentials of the application to which it was issued. */
const isForOtherServer = ({ settings }: Accounts, grant: Grant | null): boolean =>
  grant?.access_resources.some((resource) => settings.OAUTH_RESOURCES.includes(resource)) ?? false;

/** When the token expires; null if it is expired, revoked or not the newest of its grant. */
function activeUntil(grant: Grant, token: Token, now: number): number | null {
  if (grant.revoked_ms > 0) return null;
  if (token.kind === 'access' && isSecretOf(grant.access_hash, token.secret)) {
    return after(grant.access_expires_ms, now);
  }
  if (token.kind !== 'refresh') return null;
  const { family, own } = refreshParts(token);
  const isNewest = isSecretOf(grant.family_hash, family) && isSecretOf(grant.refresh_hash, own);
  return isNewest ? after(grant.refresh_expires_ms, now) : null;
}

const after = (time: number, now: number) => (time > now ? time : null);
