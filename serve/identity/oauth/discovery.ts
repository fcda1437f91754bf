import type { FastifyInstance } from 'fastify';
import type { Accounts } from '../../accounts/accounts.ts';
import { SCOPE_NAMES } from '../../accounts/scopes.ts';
import { SIGNING_ALGS, SigningKeys } from '../openid/signing-keys.ts';
import { GRANT_TYPES } from './token.ts';

const CLAIMS = [
  ...['iss', 'sub', 'aud', 'exp', 'iat', 'auth_time', 'amr', 'nonce', 'at_hash'],
  ...['name', 'nickname', 'preferred_username', 'profile', 'email', 'email_verified'],
];

/** OpenID Connect Discovery and RFC 8414: the metadata of the authorization server, and its public keys. */
export function serveDiscovery(app: FastifyInstance, accounts: Accounts, issuer: () => string): void {
  for (const name of ['openid-configuration', 'oauth-authorization-server']) {
    app.get(`/.well-known/${name}`, async () => metadata(issuer()));
  }

  app.get('/oauth/discovery/keys', async (_request, reply) => {
    const keys = await new SigningKeys(accounts).published();
    return reply.header('cache-control', 'public, max-age=3600').send({ keys });
  });
}

function metadata(issuer: string) {
  const withSecret = ['client_secret_basic', 'client_secret_post'];
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    userinfo_endpoint: `${issuer}/oauth/userinfo`,
    jwks_uri: `${issuer}/oauth/discovery/keys`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    end_session_endpoint: `${issuer}/oauth/logout`,
    scopes_supported: SCOPE_NAMES,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: GRANT_TYPES,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: [...withSecret, 'none'],
    revocation_endpoint_auth_methods_supported: [...withSecret, 'none'],
    introspection_endpoint_auth_methods_supported: withSecret,
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: SIGNING_ALGS,
    claim_types_supported: ['normal'],
    claims_supported: CLAIMS,
    claims_parameter_supported: false,
    request_parameter_supported: false,
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}
