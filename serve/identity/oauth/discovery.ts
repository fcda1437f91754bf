import type { FastifyInstance } from 'fastify';
import { SCOPE_NAMES } from '../../accounts/scopes.ts';
import { GRANT_TYPES } from './token.ts';

/**
 * RFC 8414: the metadata of the authorization server. There is no OpenID Connect document, since the server issues no
 * ID tokens: the scope `openid` only gives access to `/oauth/userinfo`.
 */
export function serveDiscovery(app: FastifyInstance, issuer: () => string): void {
  app.get('/.well-known/oauth-authorization-server', async () => {
    const base = issuer();
    const methods = ['client_secret_basic', 'client_secret_post'];
    return {
      issuer: base,
      authorization_endpoint: `${base}/oauth/authorize`,
      token_endpoint: `${base}/oauth/token`,
      revocation_endpoint: `${base}/oauth/revoke`,
      introspection_endpoint: `${base}/oauth/introspect`,
      userinfo_endpoint: `${base}/oauth/userinfo`,
      scopes_supported: SCOPE_NAMES,
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: GRANT_TYPES,
      token_endpoint_auth_methods_supported: [...methods, 'none'],
      revocation_endpoint_auth_methods_supported: [...methods, 'none'],
      introspection_endpoint_auth_methods_supported: methods,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      service_documentation: `${base}/docs`,
    };
  });
}
