import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { principalOf, TokenError } from '../accounts/principal.ts';
import { neverStored } from './errors.ts';

/** What a token is worth, asked by whoever holds it. `expires_in` is what remains, in seconds. */
export function serveTokenInfo(app: FastifyInstance, accounts: Accounts): void {
  app.get('/oauth/token/info', async (request, reply) => {
    const { grant, by } = await onlyTokens(principalOf(accounts, request));
    if (grant === null || by === 'API key') throw invalid();
    const now = accounts.clock.now();
    const expires = grant.access_expires_ms;
    const left = expires === 0 ? null : Math.max(0, Math.ceil((expires - now) / 1000));
    return neverStored(reply).send({
      resource_owner_id: Number(grant.user_id),
      scope: grant.access_scopes,
      expires_in: left,
      application: { uid: grant.application_id },
      created_at: Math.floor(grant.access_created_ms / 1000),
      scopes: grant.access_scopes,
      expires_in_seconds: left,
    });
  });
}

/** Here nobody learns whether a token was revoked, has expired or never was. */
async function onlyTokens<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw error instanceof TokenError && error.status === 401 ? invalid() : error;
  }
}

const invalid = () => new TokenError('invalid_token', 'The access token is invalid');
