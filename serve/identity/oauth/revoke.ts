import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../accounts/accounts.ts';
import { revoked } from '../accounts/grants.ts';
import { isSecretOf } from '../accounts/secrets.ts';
import type { Grant } from '../accounts/tables.ts';
import { readToken, SECRET_LENGTH, type Token } from '../accounts/tokens.ts';
import { authenticateClient } from './client.ts';
import { neverStored, OAuthError } from './errors.ts';
import { bodyParameters, optional } from './parameters.ts';

/**
 * RFC 7009. Either token of a pair ends both; the hint is not needed, as tokens tell their kind. A token that is
 * unknown, or none at all, is as good as revoked.
 */
export function serveRevoke(app: FastifyInstance, accounts: Accounts): void {
  app.post('/oauth/revoke', async (request, reply) => {
    const form = bodyParameters(request);
    const application = await authenticateClient(accounts, request, form);
    const token = readToken(optional(form, 'token'));
    if (token !== null && token.kind !== 'code' && token.kind !== 'key') {
      await accounts.grants.change(token.id, (grant) => {
        if (grant === null || !isOf(grant, token)) return { result: null };
        if (grant.application_id !== '' && grant.application_id !== application.id) {
          throw new OAuthError('unauthorized_client', 'You are not authorized to revoke this token', {
            status: 403,
            headers: { 'www-authenticate': 'Bearer realm="Chain Metrics"' },
          });
        }
        if (grant.revoked_ms > 0) return { result: null };
        return { next: revoked(grant, accounts.clock.now()), result: null };
      });
    }
    return neverStored(reply).send({});
  });
}

/** Whether the token is, or for refresh tokens once was, one of the grant. */
function isOf(grant: Grant, { kind, secret }: Token): boolean {
  return kind === 'refresh'
    ? isSecretOf(grant.family_hash, secret.slice(0, SECRET_LENGTH))
    : isSecretOf(grant.access_hash, secret);
}
