import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { isTokenOf, revoked } from '../../accounts/grants.ts';
import { readToken } from '../../accounts/tokens.ts';
import { authenticateClient } from './client.ts';
import { neverStored, OAuthError } from './errors.ts';
import { bodyParameters, optional } from './parameters.ts';

/**
 * RFC 7009. Revoking either token of a pair revokes both. The hint is ignored, since the prefix of a token gives its
 * kind. An unknown or missing token is a success.
 */
export function serveRevoke(app: FastifyInstance, accounts: Accounts): void {
  app.post('/oauth/revoke', async (request, reply) => {
    const form = bodyParameters(request);
    const application = await authenticateClient(accounts, request, form);
    const token = readToken(optional(form, 'token'));
    if (token !== null && token.kind !== 'code' && token.kind !== 'key') {
      await accounts.grants.change(token.id, (grant) => {
        if (grant === null || !isTokenOf(grant, token)) return { result: null };
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
