import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import type { Form } from '../../http/form.ts';
import { exchangeCode } from './authorization-code-grant.ts';
import { neverStored, OAuthError } from './errors.ts';
import type { TokenResponse } from './issue.ts';
import { bodyParameters, required } from './parameters.ts';
import { passwordGrant } from './password-grant.ts';
import { refresh } from './refresh-token-grant.ts';

type GrantHandler = (
  accounts: Accounts,
  request: FastifyRequest,
  form: Form,
  issuer: () => string,
) => Promise<TokenResponse>;

/** The supported grants. Implicit, client credentials and device grants are not supported. */
const GRANTS: Readonly<Record<string, GrantHandler>> = {
  authorization_code: exchangeCode,
  refresh_token: refresh,
  password: passwordGrant,
};

export const GRANT_TYPES = Object.keys(GRANTS);

/** RFC 6749 §3.2: the token endpoint. */
export function serveToken(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  const { tokensIssued, tokensRefused } = accounts.metrics;
  for (const grant of GRANT_TYPES)
    for (const counter of [tokensIssued, tokensRefused]) counter.inc({ grant }, 0);
  app.post('/oauth/token', async (request, reply) => {
    const form = bodyParameters(request);
    const type = required(form, 'grant_type');
    const handler = Object.hasOwn(GRANTS, type) ? GRANTS[type] : undefined;
    if (handler === undefined) {
      throw new OAuthError(
        'unsupported_grant_type',
        `The grant_type must be one of ${GRANT_TYPES.join(', ')}.`,
      );
    }
    try {
      const issued = await handler(accounts, request, form, issuer);
      tokensIssued.inc({ grant: type });
      return neverStored(reply).send(issued);
    } catch (error) {
      tokensRefused.inc({ grant: type });
      throw error;
    }
  });
}
