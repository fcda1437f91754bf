import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { principalOf, TokenError } from '../../accounts/principal.ts';
import { neverStored } from './errors.ts';

/** Information about a token for its holder. `expires_in` is the remaining lifetime in seconds. */
export function serveTokenInfo(app: FastifyInstance, accounts: Accounts): void {
  app.get('/oauth/token/info', async (request, reply) => {
    const { grant, by, scopes } = await hideReason(principalOf(accounts, request, 'any'));
    if (grant === null || by === 'API key') throw invalid();
    const now = accounts.clock.now();
    const expires = grant.access_expires_ms;
    const remaining = expires === 0 ? null : Math.max(0, Math.ceil((expires - now) / 1000));
    return neverStored(reply).send({
      resource_owner_id: Number(grant.user_id),
      scope: scopes,
      expires_in: remaining,
      application: { uid: grant.application_id },
      created_at: Math.floor(grant.access_created_ms / 1000),
      scopes,
      expires_in_seconds: remaining,
    });
  });
}

/** Gives the same error for a revoked, an expired and an unknown token. */
async function hideReason<T>(principal: Promise<T>): Promise<T> {
  try {
    return await principal;
  } catch (error) {
    throw error instanceof TokenError && error.status === 401 ? invalid() : error;
  }
}

const invalid = () => new TokenError('invalid_token', 'The access token is invalid');
